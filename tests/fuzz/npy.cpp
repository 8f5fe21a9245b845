// NumPy's .npy, plain.
#include "fuzz.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  using namespace tests;
  std::vector<Bytes> files = {
      npy("'<f8'", "(3, 2)", numbers<double>(counting(6))),
      npy("'>f4'", "(2, 2)", numbers<float>(counting(4), true), true),
      npy("'|u1'", "(2, 2, 3)", numbers<std::uint8_t>(counting(12)), true, 2),
      npy("'<i8'", "(4,)", numbers<std::int64_t>(counting(4)), false, 3),
      npy("'|b1'", "(4,)", numbers<std::uint8_t>(counting(4))),
  };
  for (auto& file : files) file += '\0';
  return files;
}

void parse(const std::string& path, unsigned choice) {
  load(path, pick<Values>(choice, {{}, {{"dtype", DType::f32}}, {{"rows", 1}}, {{"scale", true}}}));
}

}  // namespace kbcd::fuzz
