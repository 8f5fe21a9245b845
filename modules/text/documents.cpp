#include "modules/text/documents.hpp"

#include <algorithm>
#include <map>

#include "modules/data/class_names.hpp"

namespace kbcd {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(' ') == line.npos;
}

DocumentFormat format_of(const std::string& path, const std::optional<std::string>& given) {
  std::string name = path;
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  auto is = [&](std::initializer_list<const char*> endings) {
    for (auto* ending : endings)
      if (given ? *given == ending : name.ends_with(std::string(".") + ending)) return true;
    return false;
  };
  if (is({"tsv"})) return DocumentFormat::tsv;
  if (is({"csv"})) return DocumentFormat::csv;
  if (is({"jsonl", "ndjson", "json"})) return DocumentFormat::json;
  require(!given, "{}: format: tsv, csv or jsonl expected, got '{}'", path, *given);
  fail("{}: a name that ends with .tsv, .csv or .jsonl (and .gz) expected; or say which with format = …", path);
}

Int column_of(const ColumnName& wanted, const char* what, const DocumentPlan& plan,
              const std::vector<std::string>& names) {
  if (auto* number = std::get_if<Int>(&wanted)) {
    require(*number >= 0 && *number < plan.columns, "{}: {}: a column in 1..{} expected, got {}", plan.path, what,
            plan.columns, *number + 1);
    return *number;
  }
  auto& name = std::get<std::string>(wanted);
  require(!names.empty(), "{}: {} '{}' is the name of a column, but header = false", plan.path, what, name);
  auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), "{}: {}: no column is named '{}'; the header has {}", plan.path, what, name,
          fmt::join(names, ", "));
  return found - names.begin();
}

std::string key_of(const std::optional<ColumnName>& wanted, const char* what, const std::string& otherwise,
                   const std::string& path) {
  if (!wanted) return otherwise;
  require(std::holds_alternative<std::string>(*wanted), "{}: {}: the name of a member expected, as this is JSON", path,
          what);
  return std::get<std::string>(*wanted);
}

// The number of fields of a line, where bad lines are skipped and the first may be one of them: the most frequent
// number among the first hundred lines that have the wanted columns, the least of equals.
Int commonest_columns(const DocumentPlan& plan, Int wanted) {
  constexpr Int enough = 100;
  LineReader lines(plan.path);
  DocumentLine line(plan);
  std::map<Int, Int> times;
  Int number = 0, seen = 0;
  for (std::string_view content; seen < enough && lines.next(content);) {
    ++number;
    if (is_blank(content)) continue;
    try {
      Int columns = static_cast<Int>(line.split(content, number).size());
      if (columns >= wanted) ++times[columns], ++seen;
    } catch (const Error&) {  // a quote that is not closed, say
    }
  }
  require(seen > 0,
          "{}: lines of at least {} fields expected, there are none; text = … and label = … say which fields hold text "
          "and label, label = false that there is no label",
          plan.path, wanted);
  return std::max_element(times.begin(), times.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
}

// What the first lines show; every rank reads them.
DocumentPlan make_plan(const std::string& path, const DocumentOptions& options) {
  DocumentPlan plan;
  plan.path = path;
  plan.format = format_of(path, options.format);
  plan.labelled = options.labelled;
  bool fields = plan.format != DocumentFormat::json;
  require(fields || !options.header, "{}: header is for TSV and CSV, this is JSON", path);
  auto named = [](const std::optional<ColumnName>& c) { return c && std::holds_alternative<std::string>(*c); };
  bool header = fields && options.header.value_or(named(options.text) || named(options.label));
  plan.text_key = fields ? "" : key_of(options.text, "text", "text", path);
  plan.label_key = fields ? "" : key_of(options.label, "label", "label", path);

  ColumnName text = options.text.value_or(Int{plan.labelled}), label = options.label.value_or(Int{0});
  auto number_of = [&](const ColumnName& column) { return named(column) ? 0 : std::get<Int>(column); };
  LineReader lines(path);
  DocumentLine line(plan);
  std::vector<std::string> names;
  Int number = 0;
  for (std::string_view content; lines.next(content);) {
    ++number;
    if (is_blank(content)) continue;
    if (fields && plan.columns == 0) {
      if (header || options.invalid == Bad::fail) {
        auto& first = line.split(content, number);
        plan.columns = static_cast<Int>(first.size());
        if (header) names.assign(first.begin(), first.end());
      } else {
        plan.columns = commonest_columns(plan, 1 + std::max(number_of(text), number_of(label)));
      }
      if (!options.text) text = std::min(number_of(text), plan.columns - 1);
      plan.text = column_of(text, "text", plan, names);
      plan.label = column_of(label, "label", plan, names);
      require(!plan.labelled || plan.text != plan.label,
              "{}: text and label are both column {} of {}; say which with text = … and label = …, or label = false",
              path, plan.text + 1, plan.columns);
      if (header) {
        plan.start = {lines.offset(), number};
        continue;
      }
    }
    if (!plan.labelled) break;
    try {
      line.parse(content, number);
    } catch (const Error&) {
      if (options.invalid == Bad::fail) throw;
      continue;
    }
    plan.numbers = whole_number_text(line.label()).has_value();
    break;
  }
  return plan;
}

}  // namespace

std::vector<std::string> first_fields(const std::string& path, const std::optional<std::string>& format) {
  DocumentPlan plan;
  plan.path = path;
  plan.format = format_of(path, format);
  LineReader lines(path);
  DocumentLine line(plan);
  Int number = 0;
  for (std::string_view content; lines.next(content);) {
    ++number;
    if (!is_blank(content)) return line.names(content, number);
  }
  return {};
}

Documents::Documents(const std::string& path, const DocumentOptions& options) : options_(options) {
  require(options.rows.value_or(1) >= 1, "{}: rows >= 1 expected, got {}", path, options.rows.value_or(1));
  comm::together([&] { plan_ = std::make_shared<const DocumentPlan>(make_plan(path, options)); });

  std::optional<WordReader> word_reader;
  comm::together([&] { word_reader.emplace(options.words); });  // which may not know the language
  DocumentLine line(*plan_);
  Words words;
  bool skips = options.invalid == Bad::skip || options.empty == Bad::skip;
  share_ = share_text(path, plan_->start, options.rows, [&](std::string_view content) -> Int {
    if (is_blank(content)) return no_row;
    if (!skips) return 0;
    try {
      line.parse(content, 0);
    } catch (const Error&) {
      return options.invalid == Bad::skip ? no_row : 0;
    }
    if (options.empty != Bad::skip) return 0;
    word_reader->read(line.text(), words);
    return words.size() > 0 ? 0 : no_row;
  });
  // Skipped lines after the last document are counted, too.
  if (comm::rank() == comm::size() - 1 && !options.rows) share_.end.offset = std::numeric_limits<Int>::max();
  read_labels();
}

void Documents::read_labels() {
  Matrix y(share_.rows(), plan_->labelled ? 1 : 0, DType::f64);
  ClassNames names;
  comm::together([&] {
    Reader reader(*this, false);
    Int i = 0;
    auto changed = [&] { fail("{}: the file changed while it was read", path()); };
    for (; reader.next(); ++i) {
      if (i >= y.rows()) changed();
      if (!plan_->labelled) continue;
      y.set(i, 0,
            plan_->numbers ? *whole_number_text(reader.label())
                           : static_cast<double>(names.number(std::string(reader.label()))));
    }
    if (i < y.rows()) changed();
    invalid_ = reader.invalid, empty_ = reader.empty;
  });
  auto sum = [](Int count) {
    return static_cast<Int>(comm::allreduce(static_cast<double>(count), comm::Reduction::sum));
  };
  invalid_ = sum(invalid_), empty_ = sum(empty_);
  if (!plan_->labelled) return;
  if (!plan_->numbers) classes_ = names.merge(y);
  labels_.emplace(share_.n, y, path());
}

Documents::Reader::Reader(const Documents& documents, bool words)
    : plan_(documents.plan_),
      options_(documents.options_),
      with_words_(words || options_.empty == Bad::skip),
      lines_(plan_->path, documents.share_.begin.offset, documents.share_.end.offset),
      number_(documents.share_.begin.lines),
      line_(*plan_),
      word_reader_(options_.words) {}

bool Documents::Reader::next() {
  for (std::string_view content; lines_.next(content);) {
    ++number_;
    if (is_blank(content)) continue;
    try {
      line_.parse(content, number_);
    } catch (const Error&) {
      if (options_.invalid == Bad::fail) throw;
      ++invalid;
      continue;
    }
    if (!with_words_) return true;
    word_reader_.read(line_.text(), words_);
    if (words_.size() > 0 || options_.empty == Bad::keep) return true;
    require(
        options_.empty == Bad::skip,
        "{}: line {}: the document has no words{}; empty = \"skip\" leaves such out, \"keep\" makes them rows of zeros",
        plan_->path, number_, options_.words.stop_words ? " besides stop words" : "");
    ++empty;
  }
  return false;
}

}  // namespace kbcd
