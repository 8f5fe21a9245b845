#include "modules/rows/find_rows.hpp"

#include <cstring>
#include <unordered_map>

#include "core/checksum.hpp"

namespace kbcd {
namespace {

struct RowHash {
  std::uint64_t one, other;
  bool operator==(const RowHash&) const = default;
};

struct TakeOne {
  std::size_t operator()(const RowHash& hash) const { return hash.one; }
};

// This rank's rows.
std::vector<RowHash> hashes(const DataSet& x) {
  std::vector<RowHash> all(x.local_n());
  dispatch(x.dtype(), [&]<class T>() {
    parallel_for(x.local_n(), x.local_n() * x.d(), [&](Int i) {
      Checksum one, other;
      other.add(0x9ae16a3b2f90404fu);
      auto add = [&](Int column, T value) {
        if (value == 0) return;
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        for (Checksum* sum : {&one, &other}) {
          sum->add(static_cast<std::uint64_t>(column));
          sum->add(bits);
        }
      };
      if (x.sparse()) {
        auto& csr = x.csr();
        for (Int e = csr.starts[i]; e < csr.starts[i + 1]; ++e) add(csr.columns[e], csr.values.view<T>().data[e]);
      } else {
        std::vector<T> buffer(x.is_bytes() ? x.d() : 0);
        const T* line = x.line(i, buffer.data());
        for (Int j = 0; j < x.d(); ++j) add(j, line[j]);
      }
      all[i] = {one.value(), other.value()};
    });
  });
  return all;
}

}  // namespace

std::vector<Int> find_rows(const DataSet& x, const DataSet& z) {
  require(x.d() == z.d(), "DataSet:find: rows of {} columns expected, got {}", x.d(), z.d());
  require(x.dtype() == z.dtype(), "DataSet:find: {} rows expected, got {}; to(dtype) converts them", name(x.dtype()),
          name(z.dtype()));
  std::unordered_map<RowHash, Int, TakeOne> mine;  // the first of this rank's rows
  auto own = hashes(x), wanted = hashes(z);
  for (Int i = 0; i < x.local_n(); ++i) mine.try_emplace(own[i], x.first() + i);
  std::string bytes(wanted.size() * sizeof(RowHash), '\0');
  std::memcpy(bytes.data(), wanted.data(), bytes.size());
  std::vector<double> pairs;  // row of z, row of x
  Int row = 0;
  for (auto& text : comm::allgather(bytes))
    for (std::size_t at = 0; at < text.size(); at += sizeof(RowHash), ++row) {
      RowHash hash;
      std::memcpy(&hash, text.data() + at, sizeof hash);
      auto found = mine.find(hash);
      if (found == mine.end()) continue;
      pairs.push_back(static_cast<double>(row));
      pairs.push_back(static_cast<double>(found->second));
    }
  Matrix found(static_cast<Int>(pairs.size() / 2), 2, DType::f64);
  std::copy(pairs.begin(), pairs.end(), found.view<double>().data);
  found = comm::allgather(found);  // in the order of ranks, and so of rows of x
  std::vector<Int> rows(z.n(), -1);
  for (Int i = 0; i < found.rows(); ++i) {
    Int& to = rows[static_cast<Int>(found.get(i, 0))];
    if (to < 0) to = static_cast<Int>(found.get(i, 1));
  }
  return rows;
}

}  // namespace kbcd
