// What the first lines of a CSV file show: its separator, comments before the table, and the header, which names the
// columns. Every rank reads them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "modules/data/text_reader.hpp"
#include "modules/params/params.hpp"

namespace kbcd {

struct CsvPlan {
  char delimiter = ',';
  TextPlace start;                 // behind comments and the header
  std::vector<std::string> names;  // of all columns, where there is a header
  Int columns = 0;
  std::vector<std::string> row;  // the fields of the first row of data
};

// What is known of a file before it is read.
struct CsvLook {
  std::optional<bool> header = {};
  std::vector<std::string> names = {};  // a first line with most of these is a header
  bool one_column = false;              // blanks do not separate
  bool table = false;                   // all columns may hold text: then somebody has to say whether there is a header
};

// The next line and where the one behind it starts; false at the end.
using NextLine = std::function<bool(std::string_view& line, Int& offset)>;

CsvPlan csv_plan(const std::string& path, const NextLine& next, const CsvLook& look);
CsvPlan csv_plan(const std::string& path, const CsvLook& look);

bool is_csv_row(std::string_view line);
// The most frequent of , ; | and the tab outside quotes; a comma where there is none.
char csv_delimiter(std::string_view line);
// The column (from 0) that `wanted` names or numbers; `option` begins the message.
Int csv_column(const ColumnName& wanted, const CsvPlan& plan, const std::string& path, const char* option);
// Names for a message; of many, the first.
std::string listed(const std::vector<std::string>& names);
// The names among several columns.
void add_names(std::vector<std::string>& names, const std::optional<std::vector<ColumnName>>& columns);

}  // namespace kbcd
