// NumPy's .npz, a zip archive of .npy files.
#include "fuzz.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  using namespace tests;
  Bytes x = npy("'<f8'", "(3, 2)", numbers<double>(counting(6)));
  Bytes y = npy("'|u1'", "(3,)", numbers<std::uint8_t>(counting(3)));
  std::vector<Bytes> files;
  for (bool deflated : {false, true})
    for (bool zip64 : {false, true}) {
      files.push_back(Zip{.deflated = deflated, .zip64 = zip64}.of({{"x.npy", x}}) + '\0');
      files.push_back(Zip{.deflated = deflated, .zip64 = zip64}.of({{"x.npy", x}, {"y.npy", y}}) + '\1');
    }
  return files;
}

void parse(const std::string& path, unsigned choice) {
  load(path, pick<Values>(choice, {{}, {{"member", "x"}}, {{"rows", 1}, {"member", "y"}}}));
}

}  // namespace kbcd::fuzz
