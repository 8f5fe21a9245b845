// Labels with times, and frames labelled by them.
#include "modules/speech/lab.hpp"
#include "fuzz.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  return {
      Bytes("header\n#\n0.1 125 pau\n0.25 125 a\n0.5 125 b\n") + '\1',
      Bytes("#\r\n1e-3 0 x\r\n\r\n2 0 y\r\n") + '\3',
  };
}

void parse(const std::string& path, unsigned choice) {
  auto segments = speech::read_lab(path);
  speech::frame_labels(segments, choice % 16, 1 + choice % 3, 0.025, 0.01);
}

}  // namespace kbcd::fuzz
