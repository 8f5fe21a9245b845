#include "modules/speech/lab.hpp"

#include <algorithm>

#include "modules/data/text_reader.hpp"

namespace kbcd::speech {
namespace {

std::vector<std::string_view> fields_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<std::string_view> fields;
  for (std::size_t at = line.find_first_not_of(blanks); at != line.npos; at = line.find_first_not_of(blanks, at)) {
    std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end;
  }
  return fields;
}

}  // namespace

std::vector<Segment> read_lab(const std::string& path) {
  LineReader lines(path);
  std::vector<Segment> segments;
  bool header = true;
  Int number = 0;
  for (std::string_view line; lines.next(line);) {
    ++number;
    auto fields = fields_of(line);
    if (header) {
      header = !(fields.size() == 1 && fields[0] == "#");
      continue;
    }
    if (fields.empty()) continue;
    require(fields.size() == 3, "{}: line {}: an end time, a number and a name expected, got {}", path, number,
            shown(line));
    auto end = whole_number_text(fields[0]);
    require(end.has_value(), "{}: line {}: a time in seconds expected, got {}", path, number, shown(fields[0]));
    require(is_utf8(fields[2]), "{}: line {}: the name {} is no UTF-8", path, number, shown(fields[2]));
    double begin = segments.empty() ? 0 : segments.back().end;
    require(*end > begin, "{}: line {}: the segment ends at {} s, not after {} s, where the one before it does", path,
            number, *end, begin);
    segments.push_back({begin, *end, std::string(fields[2])});
  }
  require(!header, "{}: a line '#' between the header and the labels expected, found none", path);
  require(!segments.empty(), "{}: no labels behind the line '#'", path);
  return segments;
}

std::vector<std::string> frame_labels(const std::vector<Segment>& segments, Int count, Int parts, double length,
                                      double step) {
  require(!segments.empty() && parts >= 1, "frame_labels: at least one segment and one part expected, got {} and {}",
          segments.size(), parts);
  require(count >= 0 && step > 0 && length >= 0 && std::isfinite(step) && std::isfinite(length),
          "frame_labels: frames >= 0, a step > 0 and a length >= 0 expected, got {}, {} and {}", count, step, length);
  std::vector<std::string> labels;
  std::size_t at = 0;
  for (Int t = 0; t < count; ++t) {
    double centre = static_cast<double>(t) * step + length / 2;
    while (at + 1 < segments.size() && centre >= segments[at].end) ++at;
    auto& s = segments[at];
    require(centre >= s.begin, "frame_labels: frame {} of {}, at {:g} s, is in no segment; the next begins at {:g} s",
            t + 1, count, centre, s.begin);
    require(centre < s.end + step, "frame_labels: the labels end at {:g} s, but frame {} of {} is at {:g} s", s.end,
            t + 1, count, centre);
    auto part = static_cast<Int>(static_cast<double>(parts) * (centre - s.begin) / (s.end - s.begin));
    labels.push_back(parts == 1 ? s.name : fmt::format("{}.{}", s.name, std::min(part, parts - 1) + 1));
  }
  return labels;
}

}  // namespace kbcd::speech
