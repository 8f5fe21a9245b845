// Labels with times, as Festival and similar programs write them: a header up to a line "#", then a line a segment: the
// time at which it ends (seconds), a number that is not used, its name. A segment begins where the one before it ends.
#pragma once

#include <string>
#include <vector>

#include "core/parallel.hpp"

namespace kbcd::speech {

struct Segment {
  double begin, end;  // seconds
  std::string name;
};

// Refuses, by file and line, what is not in this form or not in the order of time.
std::vector<Segment> read_lab(const std::string& path);

// The label of each of `count` frames: the name of the segment that the frame's centre is in, and, with several `parts`
// to a segment, which of these equal parts: "a.1", "a.2", "a.3". The last segment reaches a step beyond its end, since
// labels need not cover the last samples; frames after that are an error.
std::vector<std::string> frame_labels(const std::vector<Segment>& segments, Int count, Int parts, double length,
                                      double step);

}  // namespace kbcd::speech
