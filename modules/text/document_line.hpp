// One line of a file of documents taken apart: a text and its label, from
//   TSV    fields between tabs, without quotes
//   CSV    fields between commas, quoted as in RFC 4180
//   JSON   an object a line, of which two members are read
#pragma once

#include <rapidjson/allocators.h>

#include <optional>
#include <string>

#include "modules/data/csv_fields.hpp"
#include "modules/data/loader.hpp"

namespace kbcd {

enum class DocumentFormat { tsv, csv, json };

// Where text and label are.
struct DocumentPlan {
  std::string path;
  DocumentFormat format = DocumentFormat::tsv;
  bool labelled = true, numbers = false;  // whether there are labels, and whether they are numbers, not names
  Int columns = 0, text = 1, label = 0;   // TSV and CSV
  std::string text_key = "text", label_key = "label";  // JSON
  TextPlace start = {};                                // behind the header
};

class DocumentLine {
 public:
  explicit DocumentLine(const DocumentPlan& plan) : plan_(plan), fields_(plan.path, ',') {}

  // What is malformed is an error that names file and line.
  void parse(std::string_view line, Int number);
  std::string_view text() const { return text_; }
  std::string_view label() const { return label_; }
  const std::vector<std::string_view>& split(std::string_view line, Int number);  // the fields of TSV and CSV
  std::vector<std::string> names(std::string_view line, Int number);  // these, or the names of the members of JSON

 private:
  void parse_fields(std::string_view line, Int number);
  void parse_json(std::string_view line, Int number);

  const DocumentPlan& plan_;
  Fields fields_;
  std::vector<std::string_view> tabbed_;
  rapidjson::MemoryPoolAllocator<> pool_;
  std::string unquoted_label_, unquoted_, number_;
  std::string_view text_, label_;
};

}  // namespace kbcd
