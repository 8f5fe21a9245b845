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
      npy("'<f2'", "(2, 2)", numbers<std::uint16_t>(counting(4, 15360))),
  };
  for (auto& file : files) file += '\0';
  files.push_back(npy("'<U2'", "(3,)", numbers<std::uint32_t>({97, 0, 246, 98, 97, 0})) + '\4');
  files.push_back(npy("'>U1'", "(2, 1)", numbers<std::uint32_t>({97, 128512}, true)) + '\4');
  files.push_back(npy("'|S2'", "(3,)", "abc\xC3\xB6" + Bytes(1, '\0')) + '\4');
  return files;
}

void parse(const std::string& path, unsigned choice) {
  load(path, pick<Values>(choice, {{}, {{"dtype", DType::f32}}, {{"rows", 1}}, {{"scale", true}}, {{"names", true}}}));
}

}  // namespace kbcd::fuzz
