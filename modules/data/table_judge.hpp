// What the columns of a table are, by the counts of their fields; what is doubtful is refused with a remedy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "modules/data/csv_plan.hpp"
#include "modules/data/table.hpp"
#include "modules/data/table_counts.hpp"

namespace kbcd {

class Judge {
 public:
  Judge(const std::string& path, const CsvPlan& plan, Int rows);

  // Nothing where the column is dropped; category: it is known to be one.
  std::optional<TableColumn> column(Int place, const Counts& counts, bool category);
  // Labels that are numbers must be clear ones.
  void label(Int place, const Counts& counts);

  std::vector<std::string> notes;  // what a person should know

 private:
  std::string begin(Int place, bool is_label);
  bool drop(const std::string& why);
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const;
  [[noreturn]] void refuse_odd(const OddField& odd, std::string_view expected) const;
  std::string remedies() const;
  void require_clear_numbers(const Counts& counts, Int present) const;
  void require_one_point(const Counts& counts) const;
  void require_clear_dates(const Counts& counts, Int present) const;
  ColumnKind kind_of(const Counts& counts, Int present) const;
  bool choose_categories(TableColumn& column, const Counts& counts, Int present, bool wanted);

  const std::string& path_;
  const CsvPlan& plan_;
  Int rows_;
  bool commas_, is_label_ = false;  // of the column that messages are about
  std::string shown_, option_;
};

}  // namespace kbcd
