// What the fields of a table's columns are: each rank counts its own rows, then the counts of all ranks are added.
#pragma once

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "modules/data/cells.hpp"
#include "modules/data/csv_fields.hpp"

namespace kbcd {

constexpr Int most_values = 20000;  // different texts of a column that are counted

constexpr auto cell_kinds = static_cast<std::size_t>(Cell::kinds);

// The first field that is not of some kind.
struct OddField {
  Int line = 0;  // 0: there is none
  std::string text;
};

// What the rows have in one column.
struct Counts {
  std::array<Int, cell_kinds> cells{};
  OddField no_number, no_date;
  std::unordered_map<std::string, Int> values;
  bool many = false;  // more values than are counted

  Int of(std::initializer_list<Cell> kinds) const {
    Int sum = 0;
    for (Cell kind : kinds) sum += cells[static_cast<std::size_t>(kind)];
    return sum;
  }
  Int numbers() const { return of({Cell::number, Cell::point_number, Cell::comma_number, Cell::three_digits}); }
  Int dates() const { return of({Cell::date, Cell::slash_date, Cell::day_first_date, Cell::month_first_date}); }
  void add_value(const std::string& value, Int times) {
    if (many) return;
    values[value] += times;
    if (static_cast<Int>(values.size()) > most_values) many = true, values.clear();
  }
};

// Adds a field of the line that was read last.
void count(Counts& counts, const Fields& fields, Int column, bool commas, Int line);
// The sums over all ranks (collective).
std::vector<Counts> merged(const std::vector<Counts>& mine);

}  // namespace kbcd
