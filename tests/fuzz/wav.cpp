// Sound files. libsndfile itself is not instrumented.
#include "fuzz.hpp"
#include "modules/speech/sound.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  using namespace tests;
  auto wav = [](std::size_t format, std::size_t channels, std::size_t bits, const Bytes& samples) {
    std::size_t rate = 8000, frame = channels * bits / 8;
    Bytes form = u16(format) + u16(channels) + u32(rate) + u32(rate * frame) + u16(frame) + u16(bits);
    Bytes chunks = "WAVEfmt " + u32(form.size()) + form + "data" + u32(samples.size()) + samples;
    return "RIFF" + u32(chunks.size()) + chunks + '\0';
  };
  return {
      wav(1, 1, 16, numbers<std::int16_t>(counting(20))),
      wav(1, 2, 16, numbers<std::int16_t>(counting(20))),
      wav(1, 1, 8, numbers<std::uint8_t>(counting(20))),
      wav(3, 1, 32, numbers<float>(counting(20))),
  };
}

void parse(const std::string& path, unsigned choice) {
  speech::read_sound(path, pick<std::optional<Int>>(choice, {{}, 8000}));
}

}  // namespace kbcd::fuzz
