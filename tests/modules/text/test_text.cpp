// Text: the hash against published vectors, the tokenizer and stemmer against words by hand, n-grams, vocabularies and
// hashed rows against plain maps, on any number of ranks; and what malformed files are answered with.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "core/comm.hpp"
#include "modules/data/text_reader.hpp"
#include "modules/text/hashing.hpp"
#include "modules/text/vocabulary.hpp"
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

std::string words(const std::string& text, const WordOptions& options = {}) {
  Words words;
  WordReader(options).read(text, words);
  return words.text();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text)

// From the test programs that came with the reference implementation and from other libraries that publish theirs.
BOOST_AUTO_TEST_CASE(murmur3_vectors) {
  using namespace std::string_view_literals;
  struct {
    std::string_view bytes;
    std::uint32_t seed, hash;
  } vectors[] = {{""sv, 0, 0},
                 {""sv, 1, 0x514E28B7},
                 {""sv, 0xffffffff, 0x81F16F39},
                 {"\xff\xff\xff\xff"sv, 0, 0x76293B50},
                 {"\x21\x43\x65\x87"sv, 0, 0xF55B516B},
                 {"\x21\x43\x65\x87"sv, 0x5082EDEE, 0x2362F9DE},
                 {"\x21\x43\x65"sv, 0, 0x7E4A8634},
                 {"\x21\x43"sv, 0, 0xA0F7B07A},
                 {"\x21"sv, 0, 0x72661CF4},
                 {"\0\0\0\0"sv, 0, 0x2362F9DE},
                 {"\0\0\0"sv, 0, 0x85F0B427},
                 {"\0\0"sv, 0, 0x30F4C306},
                 {"\0"sv, 0, 0x514E28B7},
                 {"test"sv, 0, 0xba6bd213},
                 {"test"sv, 0x9747b28c, 0x704b81dc},
                 {"Hello, world!"sv, 0, 0xc0363e43},
                 {"Hello, world!"sv, 0x9747b28c, 0x24884CBA},
                 {"The quick brown fox jumps over the lazy dog"sv, 0, 0x2e4ff723},
                 {"The quick brown fox jumps over the lazy dog"sv, 0x9747b28c, 0x2FA826CD}};
  for (auto& v : vectors) BOOST_TEST(murmur3(v.bytes, v.seed) == v.hash);
}

BOOST_AUTO_TEST_CASE(characters_in_place_of_words) {
  Words units;
  WordReader({.characters = true}).read("\u00A0 Gr\u00D6\u00DFE\t\u20AC!  ", units);
  BOOST_TEST(units.text() == "gr\u00F6\u00DFe \u20AC!");
  BOOST_TEST(units.size() == 8);
  std::vector<std::string> pairs;
  each_ngram(units, {2, 2}, [&](std::string_view pair) { pairs.emplace_back(pair); });
  BOOST_TEST(
      pairs == (std::vector<std::string>{"gr", "r\u00F6", "\u00F6\u00DF", "\u00DFe", "e ", " \u20AC", "\u20AC!"}),
      boost::test_tools::per_element());
  BOOST_CHECK_THROW(WordReader({.stem = "english", .characters = true}), Error);
}

BOOST_AUTO_TEST_CASE(murmur3_of_beginnings) {
  std::string text = "rolling n-grams of words";
  Murmur3 hash(text.data(), 5);
  for (std::size_t count : {0, 1, 3, 4, 4, 7, 9, 16, 24})
    BOOST_TEST(hash(count) == murmur3(std::string_view(text).substr(0, count), 5));
}

// The check of the reference implementation: the hashes of 0, 1, …, i − 1 with seed 256 − i, hashed.
BOOST_AUTO_TEST_CASE(murmur3_verification) {
  std::string key, hashes;
  for (int i = 0; i < 256; ++i) {
    std::uint32_t h = murmur3(key, 256 - i);
    for (int byte = 0; byte < 4; ++byte) hashes += static_cast<char>(h >> 8 * byte);
    key += static_cast<char>(i);
  }
  BOOST_TEST(murmur3(hashes, 0) == 0xB0F57EE3u);
}

BOOST_AUTO_TEST_CASE(tokenizer) {
  BOOST_TEST(words("Hello, World!  It's 2 of 3.") == "hello world it's 2 of 3");
  BOOST_TEST(words("'quoted' rock'n'roll dogs'") == "quoted rock'n'roll dogs");
  BOOST_TEST(words("don\u2019t \u2018go\u2019 \u2014 caf\u00C9\u2026 \u00ABna\u00EFve\u00BB") ==
             "don't go caf\u00E9 na\u00EFve");
  BOOST_TEST(words("\u0416\u0423\u041A \u0391\u03A9 \u0141\u00D3D\u0179 \u0178 \u0401") ==
             "\u0436\u0443\u043A \u03B1\u03C9 \u0142\u00F3d\u017A \u00FF \u0451");
  // Greek with accents, Ukrainian and Romanian letters, Armenian; the Arabic comma, the danda, the Greek question mark.
  BOOST_TEST(words("\u0386\u03BD\u03B8\u03C1\u03A9\u03A0\u039F\u03A3 \u0490\u0418 \u0218I \u0531\u0562") ==
             "\u03AC\u03BD\u03B8\u03C1\u03C9\u03C0\u03BF\u03C3 \u0491\u0438 \u0219i \u0561\u0562");
  BOOST_TEST(words("\u0628\u060C\u0628 \u0915\u093F\u0964\u0915\u094D\u0937 \u03B1\u037E\u03B2") ==
             "\u0628 \u0628 \u0915\u093F \u0915\u094D\u0937 \u03B1 \u03B2");
  // An accent of its own stays with its letter and begins no word; numerals are letters, fractions are not.
  BOOST_TEST(words("E\u0301te\u0301 \u263A\uFE0F \u2163\u3007 2\u00BD") == "e\u0301te\u0301 \u2173\u3007 2");
  BOOST_TEST(words("a\u00A0b\u3000c\u00D7d\U0001F600e \u4E2D\u6587\u3002") == "a b c d e \u4E2D\u6587");
  BOOST_TEST(words("") == "");
  BOOST_TEST(words(" .,;\u2014 ") == "");
  BOOST_TEST(words("one") == "one");
  BOOST_TEST(words("a\xED\xB8\x80"
                   "b\xFF"
                   "c \xE2\x80") == "a b c");  // half of a surrogate pair, no UTF-8, cut off
}

// From the sample vocabulary of the Snowball project's English (Porter2) stemmer.
BOOST_AUTO_TEST_CASE(stemmer) {
  std::map<std::string, std::string> stems = {
      {"consign", "consign"},         {"consigned", "consign"},  {"consistency", "consist"}, {"consolation", "consol"},
      {"consolatory", "consolatori"}, {"consolingly", "consol"}, {"constancy", "constanc"},  {"knackeries", "knackeri"},
      {"knavish", "knavish"},         {"knightly", "knight"},    {"knocking", "knock"},      {"knots", "knot"},
      {"generously", "generous"},     {"dying", "die"},          {"skies", "sky"},           {"happy", "happi"}};
  for (auto& [word, stem] : stems) BOOST_TEST(words(word, {false, false, "english"}) == stem);
  BOOST_TEST(words("The dogs' owners were running", {true, false, "english"}) == "dog owner run");
  BOOST_TEST(words("\u043A\u043D\u0438\u0433\u0438", {false, false, "russian"}) == "\u043A\u043D\u0438\u0433");
  BOOST_CHECK_EXCEPTION(WordReader({false, false, "klingon"}), Error, [](auto& e) {
    std::string text = e.what();
    return text.find("klingon") != text.npos && text.find("english") != text.npos;
  });
}

BOOST_AUTO_TEST_CASE(stop_words) {
  BOOST_TEST(words("this is not what I wanted, and it's too small", {true, false, ""}) == "not wanted too small");
  BOOST_TEST(words("to be or not to be", {true, false, ""}) == "not");
  BOOST_TEST(words("it is the", {true, false, ""}) == "");
}

BOOST_AUTO_TEST_CASE(marks) {
  BOOST_TEST(words("C++ (it's fast)", {false, true, ""}) == "\u2402 c + + ( it's fast ) \u2403");
  BOOST_TEST(words("it is the...", {true, true, ""}) == "\u2402 . . . \u2403");
  BOOST_TEST(words(" the ", {true, true, ""}) == "");
  BOOST_TEST(words("", {false, true, ""}) == "");
}

BOOST_AUTO_TEST_CASE(ngrams) {
  Words w;
  WordReader({}).read("a bb c dd", w);
  std::vector<std::string> found;
  each_ngram(w, {2, 3}, [&](std::string_view ngram) { found.emplace_back(ngram); });
  BOOST_TEST(found == (std::vector<std::string>{"a bb", "a bb c", "bb c", "bb c dd", "c dd"}),
             boost::test_tools::per_element());
  found.clear();
  each_ngram(w, {5, 9}, [&](std::string_view ngram) { found.emplace_back(ngram); });
  BOOST_TEST(found.empty());
}

BOOST_AUTO_TEST_CASE(utf8) {
  for (const char* good : {"", "plain ascii, long enough", "caf\u00E9", "\uFFFD\U0010FFFF", "12345678\u00E912345678"})
    BOOST_TEST(is_utf8(good));
  for (const char* bad : {"\xff", "\xC0\x80", "\xC3", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE0\x80\x80",
                          "12345678\x80", "\xF0\x8F\xBF\xBF", "a\xC3z"})
    BOOST_TEST(!is_utf8(bad));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kbcd::tests
