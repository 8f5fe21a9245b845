// The position of a column of sparse rows in a list of columns: a hash table whose size depends on the length of the
// list, not on the number of columns.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/index.hpp"

namespace kbcd {

class ColumnPlaces {
 public:
  ColumnPlaces() = default;
  explicit ColumnPlaces(std::vector<std::int32_t> columns)  // distinct
      : columns_(std::move(columns)), slots_(std::bit_ceil(2 * columns_.size() + 1), -1) {
    for (std::size_t u = 0; u < columns_.size(); ++u) {
      std::size_t at = slot_of(columns_[u]);
      while (slots_[at] >= 0) at = next(at);
      slots_[at] = static_cast<std::int32_t>(u);
    }
  }

  Int size() const { return static_cast<Int>(columns_.size()); }
  std::int32_t operator[](Int u) const { return columns_[u]; }
  // u with (*this)[u] = column; -1 where there is none.
  Int find(std::int32_t column) const {
    std::size_t at = slot_of(column);
    while (slots_[at] >= 0 && columns_[slots_[at]] != column) at = next(at);
    return slots_[at];
  }

 private:
  std::size_t slot_of(std::int32_t column) const {
    return (static_cast<std::uint32_t>(column) * 0x9E3779B1u >> 7) &
           (slots_.size() - 1);  // the golden ratio spreads them
  }
  std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  std::vector<std::int32_t> columns_;
  std::vector<std::int32_t> slots_ = {-1};  // places in columns_: open addressing, at most half full
};

}  // namespace kbcd
