// Text in Lua: documents from files, vocabularies, sparse matrices of n-grams and of hashed n-grams.
#include <optional>

#include "bindings/glue/columns.hpp"
#include "modules/text/hashing.hpp"
#include "modules/text/vocabulary.hpp"

namespace kbcd::lua {

template <>
inline constexpr const char* type_name<Documents> = "Documents";
template <>
inline constexpr const char* type_name<Vocabulary> = "Vocabulary";

namespace {

const std::vector<std::string> weight_options = {"tf", "unit_norm", "dtype"};

std::vector<std::string> with_weights(std::vector<std::string> names) {
  names.insert(names.end(), weight_options.begin(), weight_options.end());
  return names;
}

// One of a few words.
template <class T>
T choice(const Options& options, const char* owner, const char* key, T otherwise,
         const std::vector<std::pair<std::string, T>>& known) {
  auto given = options.get<std::string>(key);
  if (!given) return otherwise;
  std::string names;
  for (auto& [name, value] : known) {
    if (name == *given) return value;
    names += (names.empty() ? "\"" : ", \"") + name + "\"";
  }
  fail("{}: option {}: {} expected, got \"{}\"", owner, key, names, *given);
}

WeightOptions weights_of(const Options& options, const char* owner) {
  WeightOptions w;
  w.tf = choice<Tf>(options, owner, "tf", Tf::count, {{"count", Tf::count}, {"binary", Tf::binary}, {"log", Tf::log}});
  w.unit_norm = options.get<bool>("unit_norm").value_or(true);
  w.dtype = options.get<DType>("dtype").value_or(DType::f32);
  return w;
}

// ngrams = N: of 1 to N words; { least, most }.
NgramOrders orders_of(const Options& options, const char* owner) {
  NgramOrders orders;
  auto given = options.get<sol::object>("ngrams");
  if (!given || given->get_type() == sol::type::lua_nil) return orders;
  bool good = true;
  if (given->get_type() == sol::type::table) {
    auto list = given->as<sol::table>();
    auto least = list.raw_get<sol::optional<double>>(1), most = list.raw_get<sol::optional<double>>(2);
    good = least && most && list.size() == 2 && *least == std::floor(*least) && *most == std::floor(*most) &&
           std::abs(*least) <= 100 && std::abs(*most) <= 100;
    if (good) orders = {static_cast<Int>(*least), static_cast<Int>(*most)};
  } else {
    good = given->get_type() == sol::type::number && given->as<double>() == std::floor(given->as<double>()) &&
           std::abs(given->as<double>()) <= 100;
    if (good) orders.most = static_cast<Int>(given->as<double>());
  }
  require(good && orders.least >= 1 && orders.least <= orders.most && orders.most <= 100,
          "{}: option ngrams: the longest, from 1 to 100 words, or {{shortest, longest}} expected", owner);
  return orders;
}

const std::vector<std::pair<std::string, bool>> units = {{"words", false}, {"characters", true}};

WordOptions words_of(const Options& options, const char* owner) {
  return {options.get<bool>("stop_words").value_or(false), options.get<bool>("marks").value_or(false),
          options.get<std::string>("stem").value_or(""), choice<bool>(options, owner, "unit", false, units)};
}

Documents read(const std::string& path, sol::optional<sol::table> table) {
  const char* owner = "text.read";
  Options options(
      owner, table,
      {"format", "text", "label", "header", "rows", "invalid", "empty", "stop_words", "marks", "stem", "unit"});
  DocumentOptions o;
  auto take = [&]<class T>(const char* key, std::optional<T>& to) {
    if (auto value = options.get<T>(key)) to = *value;
  };
  take("format", o.format);
  take("header", o.header);
  take("rows", o.rows);
  auto column = [&](const char* key, std::optional<ColumnName>& to) {
    auto value = options.get<sol::object>(key);
    if (!value || value->get_type() == sol::type::lua_nil) return;
    to = column_name(fmt::format("{}: option {}", owner, key).c_str(), *value);
  };
  column("text", o.text);
  auto label = options.get<sol::object>("label");
  o.labelled = !(label && label->get_type() == sol::type::boolean && !label->as<bool>());
  if (o.labelled) column("label", o.label);
  o.invalid = choice<Bad>(options, owner, "invalid", Bad::fail, {{"error", Bad::fail}, {"skip", Bad::skip}});
  o.empty =
      choice<Bad>(options, owner, "empty", Bad::fail, {{"error", Bad::fail}, {"skip", Bad::skip}, {"keep", Bad::keep}});
  o.words = words_of(options, owner);
  return Documents(path, o);
}

// An iterator of texts: `text` makes each from a document.
template <class F>
sol::object each(lua_State* L, const Documents& documents, bool words, F text) {
  auto reader = std::make_shared<Documents::Reader>(documents, words);
  return make_collected_function(L, [reader, text](lua_State* L) mutable {
    if (!reader || !reader->next()) {
      reader.reset();  // and with it the file
      return 0;
    }
    std::string_view s = text(*reader);
    lua_pushlstring(L, s.data(), s.size());
    return 1;
  });
}

void bind_documents(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<Documents>("Documents", sol::no_constructor);
  def_field(type, "n", "The number of documents over all ranks.", &Documents::n);
  def_field(type, "local_n", "The number of documents of this rank.", &Documents::local_n);
  def_field(type, "first", "The global number of this rank's first document.",
            [](const Documents& d) { return d.first() + 1; });
  def_field(type, "y", "The labels, a DataSet of one column; nil without. Where they are names, k - 1 for classes[k].",
            [](const Documents& d) { return d.labels() ? sol::optional<DataSet>(*d.labels()) : sol::nullopt; });
  def_field(type, "classes", "The names behind the labels, sorted; nil where the labels are numbers.",
            [](const Documents& d, sol::this_state L) {
              return d.classes().empty() ? sol::make_object(L, sol::lua_nil)
                                         : sol::make_object(L, sol::as_table(d.classes()));
            });
  def_field(type, "invalid",
            "The number of lines that were skipped because they could not be read (invalid = \"skip\").",
            &Documents::invalid);
  def_field(type, "empty", "The number of documents without words that were skipped (empty = \"skip\").",
            &Documents::empty);
  def(lua, type, "Documents:texts()", "An iterator of this rank's texts as they are in the file.",
      [](const Documents& d, sol::this_state L) {
        return each(L, d, false, [](auto& reader) { return reader.text(); });
      });
  def(lua, type, "Documents:words()",
      "An iterator of this rank's texts as their words, stemmed and without stop words if the options say so, with single\n"
      "blanks between.",
      [](const Documents& d, sol::this_state L) {
        return each(L, d, true, [](auto& reader) { return std::string_view(reader.words().text()); });
      });
  def(lua, type, "Documents:hash{columns, ngrams, seed, signed, tf, unit_norm, dtype}",
      "X, empty: n-grams counted in the columns that their hashes give: with h = murmur3(n-gram, seed) as a signed number, in\n"
      "|h| mod columns (from 0), by the sign of h unless signed = false. columns = 2^18; ngrams = N (of 1 to N words) or\n"
      "{shortest, longest}; seed = 0; tf, unit_norm and dtype as for Documents:matrix. empty: how many rows have no entry.\n"
      "All ranks call it.",
      [](const Documents& d, sol::optional<sol::table> table) {
        Options options("Documents:hash", table, with_weights({"columns", "ngrams", "seed", "signed"}));
        HashOptions o;
        o.columns = options.get<Int>("columns").value_or(o.columns);
        o.orders = orders_of(options, "Documents:hash");
        Int seed = options.get<Int>("seed").value_or(0);
        require(seed >= 0 && seed <= 0xFFFFFFFF, "Documents:hash: seed: a number of 32 bits expected, got {}", seed);
        o.seed = static_cast<std::uint32_t>(seed);
        o.with_sign = options.get<bool>("signed").value_or(true);
        o.weights = weights_of(options, "Documents:hash");
        auto matrix = hashed_matrix(d, o);
        return std::make_tuple(matrix.x, matrix.without_entries);
      });
  def(lua, type, "Documents:matrix(vocabulary [, options])",
      "X, empty: a sparse DataSet with a column for each n-gram of the vocabulary. options: tf = \"count\", \"binary\" or\n"
      "\"log\" (1 + ln count); idf = false (true: times ln((1 + n) / (1 + documents with it)) + 1, of the vocabulary's\n"
      "documents); unit_norm = true; dtype = \"f32\". empty: how many rows have no entry. All ranks call it.",
      [](const Documents& d, const Vocabulary& vocabulary, sol::optional<sol::table> table) {
        Options options("Documents:matrix", table, with_weights({"idf"}));
        auto matrix = vocabulary_matrix(d, vocabulary, options.get<bool>("idf").value_or(false),
                                        weights_of(options, "Documents:matrix"));
        return std::make_tuple(matrix.x, matrix.without_entries);
      });
  type[sol::meta_function::to_string] = [](const Documents& d) {
    return fmt::format("Documents of {}: {}, {} here{}", d.path(), d.n(), d.local_n(),
                       d.classes().empty() ? "" : fmt::format(", {} classes", d.classes().size()));
  };
  refuse_unknown_fields(type);
  kbcd["Documents"] = sol::lua_nil;
}

void bind_vocabulary(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<Vocabulary>("Vocabulary", sol::no_constructor);
  auto within = [](const Vocabulary& v, Int i) {
    require(i >= 1 && i <= v.size(), "Vocabulary: a column in 1..{} expected, got {}", v.size(), i);
    return i - 1;
  };
  def_field(type, "size", "The number of n-grams, which are the columns.", &Vocabulary::size);
  def_field(type, "n", "The number of documents that it was made of.", &Vocabulary::n);
  def(lua, type, "Vocabulary:term(i)", "The n-gram of column i: its words with blanks between.",
      [within](const Vocabulary& v, Int i) { return std::string(v.term(within(v, i))); });
  def(lua, type, "Vocabulary:find(term)", "The column of an n-gram, or nil.",
      [](const Vocabulary& v, const std::string& term) {
        Int i = v.find(term);
        return i < 0 ? sol::optional<Int>() : sol::optional<Int>(i + 1);
      });
  def(lua, type, "Vocabulary:count(i)", "How often the n-gram of column i occurred, and in how many documents.",
      [within](const Vocabulary& v, Int i) {
        return std::make_tuple(v.count(within(v, i)), v.documents(within(v, i)));
      });
  def(lua, type, "Vocabulary:terms([first, last])",
      "The n-grams of columns first..last (all) in one text, a line break between them. With Vocabulary:counts, what\n"
      "text.stored_vocabulary takes.",
      [within](const Vocabulary& v, sol::optional<Int> first, sol::optional<Int> last) {
        return v.terms(within(v, first.value_or(1)), within(v, last.value_or(v.size())));
      });
  def(lua, type, "Vocabulary:counts()",
      "A Matrix with a row for each n-gram: how often it occurred, and in how many documents.",
      [](const Vocabulary& v) { return v.counts(); });
  def(lua, type, "Vocabulary:idf(i)", "ln((1 + n) / (1 + documents with it)) + 1 of the n-gram of column i.",
      [within](const Vocabulary& v, Int i) { return v.idf(within(v, i)); });
  type[sol::meta_function::to_string] = [](const Vocabulary& v) {
    return fmt::format("Vocabulary of {} n-grams, {} to {} {}, from {} documents", v.size(), v.orders().least,
                       v.orders().most, v.characters() ? "characters" : "words", v.n());
  };
  refuse_unknown_fields(type);
  kbcd["Vocabulary"] = sol::lua_nil;
}

}  // namespace

void bind_text(sol::state_view lua, sol::table kbcd) {
  bind_documents(lua, kbcd);
  bind_vocabulary(lua, kbcd);
  sol::table text = lua.create_table();
  kbcd["text"] = text;
  def(lua, text, "text.read(path [, options])",
      "Documents: the texts of a file, one a line, and their labels. TSV (fields between tabs, without quotes), CSV or\n"
      "JSON lines, also gzipped; each rank reads its own byte range. All ranks call it. options: format (\"tsv\", \"csv\",\n"
      "\"jsonl\"; default: by the name); text and label (columns by number or by name in the header, members of JSON;\n"
      "default 2 and 1, \"text\" and \"label\"; label = false: there is none); header (true or false; default: true where\n"
      "a column is named); rows (only the first so many); invalid = \"error\" or \"skip\" (lines that cannot be read: not\n"
      "UTF-8, malformed, a label that is no number where the first is one; without a header the commonest number of fields\n"
      "in the first hundred lines is the right one); empty = \"error\", \"skip\" or \"keep\" (documents without words: texts\n"
      "and words leave out what \"skip\" does); stop_words = false (true: leave English stop words out); marks = false (true: punctuation\n"
      "marks are words, too, and so are the beginning and the end of a text); stem (the language of the stemmer, such as\n"
      "\"english\"); unit = \"words\" or \"characters\" (what n-grams are of: the characters in lower case, and one blank for\n"
      "blanks between them, for languages that write none between words).",
      [](const std::string& path, sol::optional<sol::table> table) { return read(path, table); });
  def(lua, text, "text.vocabulary(documents [, options])",
      "The Vocabulary of documents, the same on any number of ranks; columns in the order of the n-grams' bytes. All ranks\n"
      "call it. options: ngrams = N (of 1 to N words; 1) or {shortest, longest}; min_count = 1 (occurrences);\n"
      "min_documents = 1; max_share = 1 (of the documents that may have it); most (only the most frequent so many).",
      [](const Documents& documents, sol::optional<sol::table> table) {
        const char* owner = "text.vocabulary";
        Options options(owner, table, {"ngrams", "min_count", "min_documents", "max_share", "most"});
        VocabularyOptions o;
        o.orders = orders_of(options, owner);
        o.min_count = options.get<Int>("min_count").value_or(1);
        o.min_documents = options.get<Int>("min_documents").value_or(1);
        o.max_share = options.get<double>("max_share").value_or(1);
        if (auto most = options.get<Int>("most")) o.most = *most;
        require(o.min_count >= 1 && o.min_documents >= 1 && o.most.value_or(1) >= 1,
                "{}: min_count, min_documents and most from 1 up expected", owner);
        require(o.max_share > 0 && o.max_share <= 1, "{}: max_share above 0 and up to 1 expected, got {}", owner,
                o.max_share);
        return Vocabulary(documents, o);
      });
  def(lua, text, "text.stored_vocabulary(terms, counts, options)",
      "A Vocabulary again, of its terms and counts (Vocabulary:terms, Vocabulary:counts). options: n (documents), ngrams, unit\n"
      "= \"words\" or \"characters\". What no vocabulary has is an error.",
      [](const std::string& terms, const Matrix& counts, sol::table table) {
        const char* owner = "text.stored_vocabulary";
        Options options(owner, table, {"n", "ngrams", "unit"});
        auto n = options.get<Int>("n");
        require(n && *n >= 1, "{}: option n: the number of documents expected", owner);
        return Vocabulary(terms, counts, *n, orders_of(options, owner),
                          choice<bool>(options, owner, "unit", false, units));
      });
  def(lua, text, "text.fields(path [, format])",
      "A list of the fields of the first line of a TSV or CSV file; of JSON lines, of the names of the members. format as for\n"
      "text.read. Empty for an empty file.",
      [](const std::string& path, sol::optional<std::string> format) {
        return sol::as_table(first_fields(path, format ? std::optional(*format) : std::nullopt));
      });
  def(lua, text, "text.words(text [, options])",
      "The words of a text with single blanks between. options: stop_words, marks, stem, unit, as for text.read.",
      [](const std::string& text, sol::optional<sol::table> table) {
        require(is_utf8(text), "text.words: UTF-8 text expected, got {}", shown(text));
        WordReader reader(
            words_of(Options("text.words", table, {"stop_words", "marks", "stem", "unit"}), "text.words"));
        Words words;
        reader.read(text, words);
        return words.text();
      });
  def(lua, text, "text.stop_words()", "The English stop words, sorted.", [] {
    auto& words = english_stop_words();
    return sol::as_table(std::vector<std::string>(words.begin(), words.end()));
  });
  def(lua, text, "text.languages()", "The languages that the stemmer knows.",
      [] { return sol::as_table(stemmer_languages()); });
}

}  // namespace kbcd::lua
