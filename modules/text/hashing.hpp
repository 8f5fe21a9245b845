// Feature hashing (Weinberger et al., 2009): every n-gram counts in the column that its hash gives, without a
// vocabulary.
//
// With h = MurmurHash3(n-gram, seed) as a signed number, the column is |h| mod p, and the sign that of h (or always +):
// the signed inner product of two rows estimates that of their n-gram counts without bias.
#pragma once

#include "modules/text/documents.hpp"
#include "modules/text/murmur3.hpp"
#include "modules/text/sparse_rows.hpp"

namespace kbcd {

struct HashOptions {
  Int columns = 1 << 18;
  NgramOrders orders = {};
  std::uint32_t seed = 0;
  bool with_sign = true;
  WeightOptions weights = {};
};

TextMatrix hashed_matrix(const Documents& documents, const HashOptions& options);  // collective

}  // namespace kbcd
