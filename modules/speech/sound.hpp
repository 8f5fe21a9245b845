// A recording in memory: samples in [-1, 1], one channel, from any file that libsndfile reads (wav, flac, ogg, …).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/matrix.hpp"

namespace kbcd::speech {

struct Sound {
  Matrix samples;  // one column, f64
  Int rate;        // samples a second
};

// Refuses, by the file's name, what is no sound, has no samples, more than one channel or numbers that are not finite;
// and, if a rate is given, what has another.
Sound read_sound(const std::string& path, std::optional<Int> rate = {});

// The files of a folder whose names end so, sorted; at least one.
std::vector<std::string> files_in(const std::string& folder, const std::string& ending);

}  // namespace kbcd::speech
