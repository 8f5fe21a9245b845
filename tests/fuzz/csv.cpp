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
  load(path, pick<LoadOptions>(choice, {{},
                                        {.dtype = DType::f32, .label = {ColumnName(Int{0})}},
                                        {.rows = 1, .label = {ColumnName(Int{2})}},
                                        {.header = true, .label = {ColumnName("kind")}},
                                        {.header = false, .label = {ColumnName(Int{1}), ColumnName(Int{0})}},
                                        {.names = true}}));
}

}  // namespace kbcd::fuzz
