// Labels that are names: numbered as they come on each rank, then by their place among those of all ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/comm.hpp"

namespace kbcd {

// Class names in the order of their first appearance on this rank.
struct ClassNames {
  std::map<std::string, Int> numbers;

  Int number(std::string name) { return numbers.try_emplace(std::move(name), numbers.size()).first->second; }

  // Those of all ranks, sorted; y changes from the numbers here to the places there (collective).
  std::vector<std::string> merge(const Matrix& y) const {
    std::string mine;
    for (auto& [name, number] : numbers) mine += name + "\n";  // no name has a line break
    std::map<std::string, Int> all;
    for (auto& text : comm::allgather(mine))
      for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
        all[text.substr(at, text.find('\n', at) - at)];
    std::vector<std::string> sorted;
    std::vector<double> place(numbers.size());
    for (auto& [name, unused] : all) {
      if (auto here = numbers.find(name); here != numbers.end())
        place[here->second] = static_cast<double>(sorted.size());
      sorted.push_back(name);
    }
    for (Int i = 0; i < y.rows(); ++i) y.set(i, 0, place[static_cast<Int>(y.get(i, 0))]);
    return sorted;
  }
};

}  // namespace kbcd
