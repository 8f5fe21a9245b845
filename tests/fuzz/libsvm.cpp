// libsvm text.
#include "fuzz.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  return with_choices(6, {
                             "1 1:0.5 3:-2e3\n-1 2:1 # a comment\n\n+1 1:.5\n",
                             "1,2 1:1\r\n3,4 1:2 7:1\r\n",
                             "1 1000000:1\n2 5:1\n",
                             "1 0:1 2:.5\n2 1:1\n",
                             "# Column indices are zero-based\n1 1:1\n2 3:2\n",
                             "# only this\n0 qid:3 1:1\n",
                             "\xEF\xBB\xBF"
                             "1e300 1:1e-320\n",
                         });
}

void parse(const std::string& path, unsigned choice) {
  load(path, pick<Values>(choice, {{},
                                   {{"dtype", DType::f32}, {"sparse", true}},
                                   {{"rows", 2}, {"sparse", false}, {"features", 7}},
                                   {{"sparse", true}, {"features", 1000}},
                                   {{"zero_based", true}, {"features", 3}},
                                   {{"zero_based", false}}}));
}

}  // namespace kbcd::fuzz
