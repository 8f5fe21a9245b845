// English words that say little about what a text is about: articles, pronouns, prepositions, conjunctions,
// auxiliaries. What turns a sentence around (no, not, never, and the forms of n't) stays in.
#include <algorithm>

#include "modules/text/words.hpp"

namespace kbcd {

const std::vector<std::string_view>& english_stop_words() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> list = {
        "a",       "an",     "the",     "i",         "me",       "my",      "mine",       "myself",   "we",
        "us",      "our",    "ours",    "ourselves", "you",      "your",    "yours",      "yourself", "yourselves",
        "he",      "him",    "his",     "himself",   "she",      "her",     "hers",       "herself",  "it",
        "its",     "itself", "they",    "them",      "their",    "theirs",  "themselves", "one",      "this",
        "that",    "these",  "those",   "who",       "whom",     "whose",   "which",      "what",     "there",
        "here",    "where",  "when",    "why",       "how",      "i'm",     "i've",       "i'd",      "i'll",
        "you're",  "you've", "you'd",   "you'll",    "he's",     "he'd",    "he'll",      "she's",    "she'd",
        "she'll",  "it's",   "it'd",    "it'll",     "we're",    "we've",   "we'd",       "we'll",    "they're",
        "they've", "they'd", "they'll", "that's",    "there's",  "here's",  "what's",     "who's",    "where's",
        "how's",   "let's",  "am",      "is",        "are",      "was",     "were",       "be",       "been",
        "being",   "have",   "has",     "had",       "having",   "do",      "does",       "did",      "doing",
        "done",    "will",   "would",   "shall",     "should",   "can",     "could",      "may",      "might",
        "must",    "ought",  "of",      "in",        "on",       "at",      "by",         "for",      "with",
        "about",   "into",   "onto",    "through",   "during",   "before",  "after",      "above",    "below",
        "to",      "from",   "up",      "down",      "out",      "off",     "over",       "under",    "between",
        "among",   "within", "upon",    "toward",    "towards",  "across",  "along",      "around",   "per",
        "via",     "and",    "or",      "but",       "if",       "because", "as",         "until",    "while",
        "than",    "then",   "so",      "though",    "although", "since",   "unless",     "whether",  "once",
        "again",   "also",   "just",    "both",      "each",     "either",  "any",        "all",      "some",
        "such",    "other",  "another", "same",      "own"};
    std::sort(list.begin(), list.end());
    return list;
  }();
  return words;
}

bool is_stop_word(std::string_view word) {
  auto& words = english_stop_words();
  return std::binary_search(words.begin(), words.end(), word);
}

}  // namespace kbcd
