#include "modules/text/words.hpp"

#include <libstemmer.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace kbcd {
namespace {

// The character that begins at `at`, and how many bytes it has; a byte that is no UTF-8 is a sign.
struct Character {
  utf8proc_int32_t code;
  utf8proc_ssize_t bytes;
};

Character decode(const char* at, const char* end) {
  constexpr utf8proc_int32_t replacement = 0xFFFD;
  Character character{};
  character.bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(at), end - at, &character.code);
  return character.bytes > 0 ? character : Character{replacement, 1};
}

void encode(utf8proc_int32_t code, std::string& to) {
  utf8proc_uint8_t bytes[4];
  to.append(reinterpret_cast<const char*>(bytes), utf8proc_encode_char(code, bytes));
}

// Whether the character begins or continues a word. Roman and Chinese numerals (NL) are read as letters are;
// fractions and circled digits (NO) are signs.
enum class Kind { letter, mark, sign };

Kind kind_of(utf8proc_int32_t code) {
  auto category = utf8proc_category(code);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return Kind::letter;
  if (category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL) return Kind::letter;
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME ? Kind::mark : Kind::sign;
}

// Blanks, line breaks and control characters.
bool is_blank(utf8proc_int32_t code) {
  auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_CC || (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
}

// ASCII letters and digits in lower case; 0 for what is neither.
constexpr auto ascii = [] {
  std::array<char, 128> table{};
  for (char c = '0'; c <= '9'; ++c) table[c] = c;
  for (char c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = c;
  return table;
}();

constexpr std::string_view curly_apostrophe = "\xE2\x80\x99";

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace

// Snowball, with the stems of words that were seen before at hand.
class WordReader::Stemmer {
 public:
  explicit Stemmer(const std::string& language) : stemmer_(sb_stemmer_new(language.c_str(), "UTF_8")) {
    require(stemmer_ != nullptr, "stem: one of {} expected, got '{}'", fmt::join(stemmer_languages(), ", "), language);
  }
  ~Stemmer() { sb_stemmer_delete(stemmer_); }
  Stemmer(const Stemmer&) = delete;

  const std::string& stem(std::string_view word) {
    constexpr std::size_t most = 1 << 20;  // words that are kept
    if (auto known = stems_.find(word); known != stems_.end()) return known->second;
    if (stems_.size() >= most) stems_.clear();
    auto* bytes =
        sb_stemmer_stem(stemmer_, reinterpret_cast<const sb_symbol*>(word.data()), static_cast<int>(word.size()));
    require(bytes != nullptr, "the stemmer has no memory left");
    std::string stem(reinterpret_cast<const char*>(bytes), sb_stemmer_length(stemmer_));
    return stems_.emplace(word, std::move(stem)).first->second;
  }

 private:
  sb_stemmer* stemmer_;
  std::unordered_map<std::string, std::string, TextHash, std::equal_to<>> stems_;
};

WordReader::WordReader(const WordOptions& options)
    : stop_words_(options.stop_words),
      marks_(options.marks),
      characters_(options.characters),
      stemmer_(options.stem.empty() ? nullptr : std::make_unique<Stemmer>(options.stem)) {
  require(!characters_ || !(stop_words_ || marks_ || stemmer_),
          "stop_words, marks and stem are of words; unit = \"characters\" has none");
}

WordReader::~WordReader() = default;
WordReader::WordReader(WordReader&&) = default;

// The word that begins at `begin` is complete: it is kept, as its stem, or dropped.
void WordReader::close(Words& words, std::size_t begin) {
  auto& text = words.text_;
  if (text.size() == begin) return;
  std::string_view word(text.data() + begin, text.size() - begin);
  if (stop_words_ && is_stop_word(word)) return text.resize(begin);
  if (stemmer_) text.replace(begin, text.npos, stemmer_->stem(word));
  if (text.size() == begin) return;
  words.ends_.push_back(static_cast<std::uint32_t>(text.size()));
  text += ' ';
}

void WordReader::add(Words& words, std::string_view mark) {
  words.text_ += mark;
  words.ends_.push_back(static_cast<std::uint32_t>(words.text_.size()));
  words.text_ += ' ';
}

void WordReader::read_characters(std::string_view text, Words& words) {
  auto& to = words.text_;
  bool blank = false;  // one is due before the next character
  auto put = [&](utf8proc_int32_t code) {
    encode(code, to);
    words.ends_.push_back(static_cast<std::uint32_t>(to.size()));
  };
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    auto [code, bytes] = decode(at, end);
    at += bytes;
    if (is_blank(code)) {
      blank = !to.empty();
      continue;
    }
    if (blank) put(' ');
    blank = false;
    put(utf8proc_tolower(code));
  }
}

void WordReader::read(std::string_view text, Words& words) {
  auto& to = words.text_;
  to.clear();
  words.ends_.clear();
  words.gap_ = characters_ ? 0 : 1;
  to.reserve(text.size() + 1);
  if (characters_) return read_characters(text, words);
  const char *at = text.data(), *end = at + text.size();
  auto begins_with_letter = [end](const char* at) {
    if (at == end) return false;
    return static_cast<unsigned char>(*at) < 0x80 ? ascii[*at] != 0 : kind_of(decode(at, end).code) == Kind::letter;
  };
  if (marks_) add(words, "\u2402");
  std::size_t begin = to.size();
  while (at != end) {
    const char* here = at;
    if (static_cast<unsigned char>(*at) < 0x80) {
      char c = *at++;
      if (ascii[c]) {
        to += ascii[c];
        continue;
      }
      if (c == '\'' && to.size() > begin && begins_with_letter(at)) {
        to += c;
        continue;
      }
    } else {
      auto [code, bytes] = decode(at, end);
      bool apostrophe = std::string_view(at, bytes) == curly_apostrophe;
      at += bytes;
      Kind kind = kind_of(code);
      if (kind == Kind::letter || (kind == Kind::mark && to.size() > begin)) {
        encode(utf8proc_tolower(code), to);
        continue;
      }
      if (apostrophe && to.size() > begin && begins_with_letter(at)) {
        to += '\'';
        continue;
      }
    }
    close(words, begin);
    if (marks_ && *here > ' ' && *here < 0x7F) add(words, {here, 1});
    begin = to.size();
  }
  close(words, begin);
  if (marks_ && words.size() > 1) add(words, "\u2403");
  if (marks_ && words.size() == 1) words.ends_.clear(), to.clear();  // nothing but the beginning
  if (!to.empty()) to.pop_back();                                    // the blank behind the last word
}

std::vector<std::string> stemmer_languages() {
  std::vector<std::string> names;
  for (const char** name = sb_stemmer_list(); *name; ++name) names.emplace_back(*name);
  return names;
}

}  // namespace kbcd
