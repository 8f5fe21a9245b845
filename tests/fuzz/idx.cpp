// idx, the format of MNIST.
#include "fuzz.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  using namespace tests;
  auto header = [](char type, const std::vector<double>& shape) {
    return Bytes{0, 0, type, static_cast<char>(shape.size())} + numbers<std::uint32_t>(shape, true);
  };
  return {
      header(0x08, {2, 2, 3}) + numbers<std::uint8_t>(counting(12), true) + '\0',
      header(0x09, {4}) + numbers<std::int8_t>(counting(4), true) + '\0',
      header(0x0B, {2, 1}) + numbers<std::int16_t>(counting(2), true) + '\0',
      header(0x0C, {2, 1}) + numbers<std::int32_t>(counting(2), true) + '\0',
      header(0x0D, {1, 2}) + numbers<float>(counting(2), true) + '\0',
      header(0x0E, {1, 2}) + numbers<double>(counting(2), true) + '\0',
  };
}

void parse(const std::string& path, unsigned choice) {
  load(path, pick<Values>(choice, {{}, {{"dtype", DType::f64}}, {{"rows", 1}}, {{"scale", false}}}));
}

}  // namespace kbcd::fuzz
