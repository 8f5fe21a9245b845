#include "modules/speech/sound.hpp"

#include <sndfile.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/access.hpp"
#include "core/elementwise.hpp"

namespace kbcd::speech {

Sound read_sound(const std::string& path, std::optional<Int> rate) {
  access::reading(path);
  require(std::filesystem::is_regular_file(path), "{}: there is no such file", path);
  SF_INFO info = {};
  std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> file(sf_open(path.c_str(), SFM_READ, &info), sf_close);
  require(file != nullptr, "{}: no sound file that can be read: {}", path, sf_strerror(nullptr));
  require(info.channels == 1, "{}: one channel expected, got {}; mix them into one first", path, info.channels);
  require(!rate || info.samplerate == *rate, "{}: {} samples a second expected, got {}; resample it first", path,
          rate.value_or(0), info.samplerate);
  require(info.frames > 0, "{}: the sound has no samples", path);
  // The header may announce more than the file has, so that memory is taken as samples come.
  constexpr Int piece = 1 << 16;
  std::vector<double> samples;
  for (Int got = piece; got == piece;) {
    std::size_t before = samples.size();
    samples.resize(before + piece);
    got = sf_readf_double(file.get(), samples.data() + before, piece);
    samples.resize(before + std::max<Int>(got, 0));
  }
  auto count = static_cast<Int>(samples.size());
  require(count == info.frames, "{}: cut short: the header announces {} samples, {} can be read", path, info.frames,
          count);
  Sound sound{Matrix(count, 1, DType::f64), info.samplerate};
  std::copy(samples.begin(), samples.end(), sound.samples.view<double>().data);
  require(all_finite(sound.samples), "{}: some samples are NaN or infinite", path);
  return sound;
}

std::vector<std::string> files_in(const std::string& folder, const std::string& ending) {
  access::reading(folder);
  std::error_code error;
  std::vector<std::string> files;
  for (auto& entry : std::filesystem::directory_iterator(folder, error))
    if (std::string path = entry.path().string(); path.ends_with(ending)) files.push_back(path);
  require(!error, "{}: the folder cannot be read: {}", folder, error.message());
  require(!files.empty(), "{}: no file in the folder ends with '{}'", folder, ending);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace kbcd::speech
