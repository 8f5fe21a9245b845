#include "modules/text/hashing.hpp"

#include <bit>

namespace kbcd {

TextMatrix hashed_matrix(const Documents& documents, const HashOptions& options) {
  require(options.columns >= 1 && options.columns <= most_columns, "hash: columns in 1..{} expected, got {}",
          most_columns, options.columns);
  auto p = static_cast<std::uint32_t>(options.columns);
  bool power = std::has_single_bit(p);  // of two, by which dividing is a mask
  return dispatch(options.weights.dtype, [&]<class T>() {
    SparseRows<T> rows(documents.local_n(), options.columns, options.weights);
    comm::together([&] {
      for (Documents::Reader reader(documents); reader.next();) {
        auto& words = reader.words();
        for (Int i = 0; i < words.size(); ++i) {
          Int most = std::min(options.orders.most, words.size() - i);
          Murmur3 hash(words.ngram(i, 1).data(), options.seed);
          for (Int order = options.orders.least; order <= most; ++order) {
            std::uint32_t h = hash(words.ngram(i, order).size());
            bool negative = h >> 31;
            std::uint32_t size = negative ? 0u - h : h;
            rows.add(power ? size & (p - 1) : size % p, negative && options.with_sign);
          }
        }
        rows.end_row([](std::uint32_t) { return 1.0; });
      }
    });
    return rows.finish(documents.n(), documents.path());
  });
}

}  // namespace kbcd
