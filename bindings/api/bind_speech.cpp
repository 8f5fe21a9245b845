// Speech in Lua: speech.<step> for each step from a recording to rows of features and their labels. Every step takes
// and gives plain matrices of one utterance, so that a script can combine them freely.
#include "bindings/glue/def.hpp"
#include "modules/speech/context.hpp"
#include "modules/speech/frames.hpp"
#include "modules/speech/lab.hpp"
#include "modules/speech/mel.hpp"
#include "modules/speech/sound.hpp"
#include "modules/speech/spectrum.hpp"

namespace kbcd::lua {
namespace {

using namespace speech;

Int checked_rate(const char* owner, Int rate) {
  require(rate >= 1, "{}: argument 2 (rate): samples a second expected, got {}", owner, rate);
  return rate;
}

FrameOptions frame_options(const sol::optional<sol::table>& table) {
  Options options("speech.frames", table, {"length", "step", "window", "preemphasis", "center"});
  FrameOptions o;
  o.length = options.get<double>("length").value_or(o.length);
  o.step = options.get<double>("step").value_or(o.step);
  o.window = options.get<std::string>("window").value_or(o.window);
  o.preemphasis = options.get<double>("preemphasis").value_or(o.preemphasis);
  o.center = options.get<bool>("center").value_or(o.center);
  return o;
}

MelOptions mel_options(const char* owner, const sol::optional<sol::table>& table) {
  Options options(owner, table, {"bands", "low", "high", "floor"});
  MelOptions o;
  o.bands = options.get<Int>("bands").value_or(o.bands);
  o.low = options.get<double>("low").value_or(o.low);
  o.high = options.get<double>("high").value_or(o.high);
  o.floor = options.get<double>("floor").value_or(o.floor);
  return o;
}

sol::table as_table(lua_State* L, const std::vector<Segment>& segments) {
  sol::table list(L, sol::create);
  for (auto& s : segments) {
    sol::table entry(L, sol::create);
    entry["begin"] = s.begin;
    entry["finish"] = s.end;
    entry["name"] = s.name;
    list.add(entry);
  }
  return list;
}

std::vector<Segment> as_segments(const sol::table& list) {
  std::vector<Segment> segments;
  for (std::size_t i = 1; i <= list.size(); ++i) {
    auto entry = list.raw_get<sol::object>(i);
    require(entry.get_type() == sol::type::table, "speech.frame_labels: segment {} is not a table", i);
    Options s("speech.frame_labels: a segment", entry.as<sol::table>(), {"begin", "finish", "name"});
    auto begin = s.get<double>("begin"), end = s.get<double>("finish");
    auto name = s.get<std::string>("name");
    require(begin && end && name && *end > *begin && (segments.empty() || *begin >= segments.back().end),
            "speech.frame_labels: segment {}: begin < finish and a name expected, in the order of time", i);
    segments.push_back({*begin, *end, *name});
  }
  return segments;
}

void bind_signal(sol::state_view lua, sol::table speech) {
  def(lua, speech, "speech.read_sound(path [, rate])",
      "The samples of a sound file of one channel (wav, flac, …) in [-1, 1], a Matrix of one column; and the sample rate\n"
      "in Hz. If `rate` is given, a file of another rate is an error.",
      [](const std::string& path, sol::optional<Int> rate) {
        Sound sound = read_sound(path, rate ? std::optional(*rate) : std::nullopt);
        return std::make_tuple(sound.samples, sound.rate);
      });
  def(lua, speech, "speech.files(folder, ending)",
      "A sorted list of the files of a folder whose names have this ending.",
      [](const std::string& folder, const std::string& ending) { return sol::as_table(files_in(folder, ending)); });
  def(lua, speech, "speech.frames(samples, rate [, options])",
      "Windows of the samples, a row each, that begin at the samples nearest to 0, step, 2 step, … options: length = 0.025 and\n"
      "step = 0.010 (seconds), window = \"hamming\", \"hann\" or \"rectangular\", preemphasis = 0.97 (x_s - 0.97 x_(s-1)),\n"
      "center = true (subtract the mean of each window).",
      [](const Matrix& samples, Int rate, sol::optional<sol::table> options) {
        return frames(samples, checked_rate("speech.frames", rate), frame_options(options));
      });
  def(lua, speech, "speech.power_spectrum(F [, size])",
      "|DFT|^2 of each row, padded with zeros to an even size (default: the next power of two): rows of size / 2 + 1 numbers.",
      [](const Matrix& f, sol::optional<Int> size) {
        return power_spectrum(f, size ? *size : transform_size(f.cols()));
      });
  def(lua, speech, "speech.log_mel(P, rate [, options])",
      "The logarithm of the energy in bands of equal width on the mel scale, 1127 ln(1 + f/700), of each power spectrum.\n"
      "options: bands = 40, low = 20 and high = rate / 2 (Hz), floor = 1e-10 (the least energy).",
      [](const Matrix& p, Int rate, sol::optional<sol::table> options) {
        return log_mel(p, checked_rate("speech.log_mel", rate), mel_options("speech.log_mel", options));
      });
  def(lua, speech, "speech.mfcc(M [, options])",
      "The first coefficients of the orthonormal cosine transform (DCT-II) of each row of log-mel energies. options:\n"
      "coefficients (default: as many as bands), lifter = 0 (Q > 0: coefficient i times 1 + Q/2 sin(pi i/Q)).",
      [](const Matrix& m, sol::optional<sol::table> table) {
        Options options("speech.mfcc", table, {"coefficients", "lifter"});
        return mfcc(m, options.get<Int>("coefficients").value_or(m.cols()), options.get<double>("lifter").value_or(0));
      });
}

void bind_context(sol::state_view lua, sol::table speech) {
  def(lua, speech, "speech.deltas(A [, reach])",
      "The slope of each column over the rows within reach (2): sum_i i (a_(t+i) - a_(t-i)) / (2 sum_i i^2). Beyond the ends\n"
      "the first and the last row are repeated.",
      [](const Matrix& a, sol::optional<Int> reach) { return deltas(a, reach.value_or(2)); });
  def(lua, speech, "speech.splice(A, reach [, into])",
      "Each row with the rows within reach before and after it, side by side; at the ends as in deltas. into: the Matrix\n"
      "that takes the result.",
      [](const Matrix& a, Int reach, sol::optional<Matrix> into) {
        Matrix out = into ? *into : Matrix(a.rows(), spliced_cols(a, reach), a.dtype());
        splice(a, reach, out);
        return out;
      });
}

}  // namespace

void bind_speech(sol::state_view lua, sol::table kbcd) {
  sol::table speech = lua.create_table();
  kbcd["speech"] = speech;
  bind_signal(lua, speech);
  bind_context(lua, speech);
  def(lua, speech, "speech.read_lab(path)",
      "The segments { begin, finish, name } of a .lab file (a header up to a line `#`; then end time, number, name), times\n"
      "in seconds.",
      [](const std::string& path, sol::this_state L) { return as_table(L, read_lab(path)); });
  def(lua, speech, "speech.frame_labels(segments, count [, options])",
      "A list of the labels of `count` frames: the name of the segment that contains the centre of the frame. options: parts = 1\n"
      "(with 3, \"a.1\", \"a.2\" and \"a.3\" are the thirds of a segment \"a\"), length = 0.025 and step = 0.010 as in frames.",
      [](sol::table segments, Int count, sol::optional<sol::table> table) {
        Options options("speech.frame_labels", table, {"parts", "length", "step"});
        FrameOptions as;
        return sol::as_table(frame_labels(as_segments(segments), count, options.get<Int>("parts").value_or(1),
                                          options.get<double>("length").value_or(as.length),
                                          options.get<double>("step").value_or(as.step)));
      });
}

}  // namespace kbcd::lua
