// CSV and TSV.
#include "fuzz.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  return with_choices(6, {
                             "a,b,kind\n1,2,cat\n3,4e-3,\"dog, \"\"big\"\"\"\n",
                             "1;2\n\n-3;+4\n",
                             "0.5\t1\tx\r\n1\t2\ty\r\n",
                             "cat\ndog\ncat\n",
                             "1\n2\n3",
                             "1,nan\n2,inf\n",
                             "\xEF\xBB\xBF"
                             "\"a\",\"kind\"\n1,2\n",
                         });
}

void parse(const std::string& path, unsigned choice) {
  load(path, pick<Values>(choice, {{},
                                   {{"dtype", DType::f32}, {"label", 1}},
                                   {{"rows", 1}, {"label", 3}},
                                   {{"header", true}, {"label", "kind"}},
                                   {{"header", false}, {"label", std::vector<Value>{2, 1}}},
                                   {{"names", true}}}));
}

}  // namespace kbcd::fuzz
