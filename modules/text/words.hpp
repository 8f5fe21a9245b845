// From a text to its words: the tokenizer, the stop words and the stemmer.
//
// A word is a longest run of letters and digits, as Unicode has them (categories L, Nd and Nl), with the accents and
// vowel signs (M) that follow them. An apostrophe (' or ’) between two of them belongs to the word, as '. Upper
// case becomes lower case, a character for a character. Accents stay, and are not composed.
//
// For n-grams of characters, as languages without blanks between words need them, the units are the characters (code
// points) of the text in lower case, signs included; what is blank between them becomes one blank, and none at the
// ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/parallel.hpp"

namespace kbcd {

// The words of one text with single blanks between them, or its characters with nothing between them, so that an n-gram
// is a piece of it.
class Words {
 public:
  Int size() const { return static_cast<Int>(ends_.size()); }
  const std::string& text() const { return text_; }
  std::string_view ngram(Int first, Int order) const {
    std::uint32_t begin = first ? ends_[first - 1] + gap_ : 0;
    return {text_.data() + begin, ends_[first + order - 1] - begin};
  }

 private:
  friend class WordReader;
  std::string text_;
  std::vector<std::uint32_t> ends_;
  std::uint32_t gap_ = 1;  // bytes between units
};

struct NgramOrders {
  Int least = 1, most = 1;
};

// f(n-gram) for the n-grams of every order, in the order of where they begin.
template <class F>
void each_ngram(const Words& words, NgramOrders orders, F&& f) {
  for (Int i = 0; i < words.size(); ++i)
    for (Int order = orders.least; order <= orders.most && i + order <= words.size(); ++order) f(words.ngram(i, order));
}

struct WordOptions {
  bool stop_words = false;  // leave them out
  bool marks = false;       // punctuation counts, and the beginning and the end of the text
  std::string stem = {};    // the language of the stemmer, such as "english"; none when empty
  bool characters = false;  // in place of words
};

class WordReader {
 public:
  explicit WordReader(const WordOptions& options);
  ~WordReader();
  WordReader(WordReader&&);

  void read(std::string_view text, Words& words);  // the text must be UTF-8

 private:
  class Stemmer;
  void close(Words& words, std::size_t begin);
  void add(Words& words, std::string_view mark);
  static void read_characters(std::string_view text, Words& words);

  bool stop_words_, marks_, characters_;
  std::unique_ptr<Stemmer> stemmer_;
};

const std::vector<std::string_view>& english_stop_words();  // sorted
bool is_stop_word(std::string_view word);
std::vector<std::string> stemmer_languages();

}  // namespace kbcd
