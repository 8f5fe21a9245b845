// TermTable: numbers texts 0, 1, 2, … in the order in which they are first added; all texts lie in one piece.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "modules/text/murmur3.hpp"

namespace kbcd {

class TermTable {
 public:
  TermTable() : slots_(1 << 10, -1) {}

  Int size() const { return static_cast<Int>(hashes_.size()); }
  std::string_view operator[](Int i) const {
    return {text_.data() + starts_[i], static_cast<std::size_t>(starts_[i + 1] - starts_[i])};
  }
  std::uint32_t hash(Int i) const { return hashes_[i]; }

  Int find(std::string_view term) const {  // -1 where it is not there
    return slots_[slot(term, murmur3(term, seed))];
  }
  Int add(std::string_view term) {
    std::uint32_t hash = murmur3(term, seed);
    std::size_t at = slot(term, hash);
    if (slots_[at] >= 0) return slots_[at];
    if (2 * (hashes_.size() + 1) > slots_.size()) {
      grow();
      at = slot(term, hash);
    }
    slots_[at] = size();
    hashes_.push_back(hash);
    text_ += term;
    starts_.push_back(static_cast<Int>(text_.size()));
    return size() - 1;
  }

 private:
  static constexpr std::uint32_t seed = 0x7e4a;

  // Where the term is, or would be.
  std::size_t slot(std::string_view term, std::uint32_t hash) const {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at] >= 0 && (hashes_[slots_[at]] != hash || (*this)[slots_[at]] != term))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), -1);
    for (Int i = 0; i < size(); ++i) {
      std::size_t at = hashes_[i] & (slots_.size() - 1);
      while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = i;
    }
  }

  std::string text_;
  std::vector<Int> starts_{0};
  std::vector<std::uint32_t> hashes_;
  std::vector<Int> slots_;  // a power of two of them, at most half taken
};

}  // namespace kbcd
