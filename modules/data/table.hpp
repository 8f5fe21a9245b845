// Tables: CSV files with columns of text, dates and missing values, which become columns of numbers by a description
// that is fitted on the training file and applied to others.
//
// - number: x, or the median of the training rows where it is missing; if training rows had it missing, behind it 1
//   (missing) or 0
//
// - boolean: the same of 1 for true, yes, t, y and 0 for false, no, f, n
//
// - date: days since 1970-01-01, the day of the week as a point on the circle; 1 or 0: missing
//
// - category: a column of 1 or 0 for each frequent category (a missing value is one), and one for all others
#pragma once

#include <string>
#include <vector>

#include "modules/data/loader.hpp"

namespace kbcd {

enum class ColumnKind { number, boolean, date, day_month_date, month_day_date, category };

struct TableColumn {
  std::string name;  // empty without a header
  Int place = 0;     // in the training file, from 0
  ColumnKind kind = ColumnKind::number;
  double fill = 0;       // in place of what is missing
  bool missing = false;  // whether a column says what was missing
  bool other = false;    // whether a column is for other categories
  std::vector<std::string> categories = {};

  Int width() const;  // columns of X that it makes
};

struct Table {
  bool header = false;  // columns are known by their names
  Int count = 0;        // columns of the training file
  std::vector<Int> label_places = {};
  std::vector<std::string> label_names = {};
  std::vector<TableColumn> columns = {};

  Int width() const;
  std::vector<std::string> outputs() const;  // names of the columns of X
};

// A description as flat lists, as Lua and model files have it. table_of checks everything.
Values values_of(const Table& table);
Table table_of(const Values& values);

struct FittedTable {
  Table table;
  std::vector<std::string> notes;  // what a person should know
};

// The description of a file, without fills. Options: header, label, drop, columns, categories, and plain: every column
// is known to hold numbers. Collective.
FittedTable fit_table(const std::string& path, const Values& options);

struct TableRows {
  Loaded rows;
  std::vector<std::string> notes;
};

// The rows of a file by a description, its columns matched by their names or places. Options: header, label, dtype, and
// labels = false: y is not wanted. Collective.
TableRows read_table(const std::string& path, const Values& options, const Table& table);

struct EncodedRows {
  Matrix x;
  bool header;  // whether a line named the columns
};

// The same for lines of text that begin with line `first` of `name`, on this rank alone; X alone. header = true: the
// first line is the header, whatever `first` is.
EncodedRows encode_table(const std::string& name, std::string_view text, Int first, const Values& options,
                         const Table& table);

}  // namespace kbcd
