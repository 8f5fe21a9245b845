// The label of a row of CSV: a number, or the name of a class.
#pragma once

#include "modules/data/cells.hpp"
#include "modules/data/class_names.hpp"
#include "modules/data/csv_fields.hpp"

namespace kbcd {

// Whether a column of labels that begins so holds names.
inline bool holds_names(std::string_view first, bool commas) {
  if (is_missing_label(first) || is_failed_number(first)) return false;
  Cell cell = cell_of(first, commas);
  return cell == Cell::missing || (cell > Cell::three_digits && cell != Cell::misspelt);
}

// alone: it is the only column of labels. commas: 1,5 is a number.
inline double read_label(const Fields& fields, Int column, bool names_expected, bool alone, ClassNames& names,
                         bool commas = false) {
  auto text = fields.last()[column];
  if (is_missing_label(trimmed(text)))
    fields.bad(column, "a label expected, {}; remove such rows, or predict them with the model of the others",
               text.empty() ? "the field is empty" : fmt::format("{} stands for a missing value", shown(text)));
  if (names_expected) return static_cast<double>(names.number(fields.name(column)));
  if (auto number = commas ? comma_number_of(text) : std::nullopt) return *number;
  if (alone && !whole_number_text(text))
    fields.bad(column, "a finite number expected as label, as in the first row, got {}", shown(text));
  return fields.number(column);
}

}  // namespace kbcd
