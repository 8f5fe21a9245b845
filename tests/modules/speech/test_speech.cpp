// Every step from samples to rows and labels, against its formula written out in f64 with plain loops.
#include <complex>
#include <numbers>

#include "modules/data/distribute.hpp"
#include "modules/speech/context.hpp"
#include "modules/speech/frames.hpp"
#include "modules/speech/lab.hpp"
#include "modules/speech/mel.hpp"
#include "modules/speech/sound.hpp"
#include "modules/speech/spectrum.hpp"
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

using namespace speech;
constexpr double pi = std::numbers::pi;

// A wav file of samples of `bytes` each; format 1: whole numbers, 3: floating point. `length`: what the header
// promises.
Bytes riff(int format, int bytes, int rate, int channels, double length, const Bytes& samples) {
  auto word = [](double value) { return number<std::uint32_t>(value, false); };
  auto half = [](double value) { return number<std::uint16_t>(value, false); };
  return "RIFF" + word(36 + length) + "WAVEfmt " + word(16) + half(format) + half(channels) + word(rate) +
         word(bytes * rate * channels) + half(bytes * channels) + half(8 * bytes) + "data" + word(length) + samples;
}

// Of 16-bit samples. `announced`: how many samples the header promises.
Bytes wav(const std::vector<double>& samples, int rate = 16000, int channels = 1, Int announced = -1) {
  Int count = announced < 0 ? static_cast<Int>(samples.size()) : announced;
  return riff(1, 2, rate, channels, 2.0 * static_cast<double>(count), numbers<std::int16_t>(samples));
}

// Some hundred samples of two tones and noise, as 16-bit numbers.
std::vector<double> tones(int count) {
  Dense noise = normal(count, 1, 5);
  std::vector<double> x(count);
  for (int s = 0; s < count; ++s)
    x[s] = std::round(9000 * std::sin(0.21 * s) + 4000 * std::cos(1.3 * s + 1) + 300 * noise(s, 0) + 700);
  return x;
}

// The whole chain as the textbooks write it. A step may be a fraction of samples: a frame begins at the nearest one.
Dense naive_frames(const std::vector<double>& x, int length, double step, double a, double mean, bool centred) {
  std::vector<Int> starts;
  for (Int t = 0; std::lround(static_cast<double>(t) * step) + length <= std::ssize(x); ++t)
    starts.push_back(std::lround(static_cast<double>(t) * step));
  Dense out(std::ssize(starts), length);
  for (Int t = 0; t < out.rows(); ++t) {
    std::vector<double> z(x.begin() + starts[t], x.begin() + starts[t] + length);
    double m = 0;
    for (double v : z) m += v / length;
    if (centred)
      for (double& v : z) v -= m;
    for (int s = 0; s < length; ++s)
      out(t, s) = (mean - (1 - mean) * std::cos(2 * pi * s / (length - 1))) * (z[s] - a * (s ? z[s - 1] : z[0]));
  }
  return out;
}

Dense naive_power(const Dense& frames, int size) {
  Dense out(frames.rows(), size / 2 + 1);
  for (Int t = 0; t < out.rows(); ++t)
    for (Int k = 0; k < out.cols(); ++k) {
      std::complex<double> sum = 0;
      for (Int s = 0; s < frames.cols(); ++s)
        sum += frames(t, s) * std::exp(std::complex<double>(0, -2 * pi * static_cast<double>(k * s) / size));
      out(t, k) = std::norm(sum);
    }
  return out;
}

double mel(double f) {
  return 1127 * std::log(1 + f / 700);
}

Dense naive_log_mel(const Dense& power, double rate, int bands, double low, double high, double floor) {
  double width = (mel(high) - mel(low)) / (bands + 1);
  Dense out(power.rows(), bands);
  for (Int t = 0; t < out.rows(); ++t)
    for (int j = 0; j < bands; ++j) {
      double left = mel(low) + j * width, peak = left + width, right = peak + width, sum = 0;
      for (Int k = 0; k < power.cols(); ++k) {
        double m = mel(static_cast<double>(k) * rate / (2.0 * static_cast<double>(power.cols() - 1)));
        if (m > left && m < right) sum += power(t, k) * (m <= peak ? (m - left) / width : (right - m) / width);
      }
      out(t, j) = std::log(std::max(sum, floor));
    }
  return out;
}

Dense naive_mfcc(const Dense& m, int count, double lifter) {
  Int bands = m.cols();
  Dense out = Dense::Zero(m.rows(), count);
  for (Int t = 0; t < m.rows(); ++t)
    for (int i = 0; i < count; ++i) {
      for (Int j = 0; j < bands; ++j)
        out(t, i) +=
            m(t, j) * std::cos(pi * i * (2.0 * static_cast<double>(j) + 1) / (2.0 * static_cast<double>(bands)));
      out(t, i) *= std::sqrt((i == 0 ? 1.0 : 2.0) / static_cast<double>(bands));
      if (lifter > 0) out(t, i) *= 1 + lifter / 2 * std::sin(pi * i / lifter);
    }
  return out;
}

Matrix column(const std::vector<double>& x) {
  return as_matrix(rows_by_rows(x, static_cast<Int>(x.size())));
}

// Whether reading the file fails with a message that has its name and `text` in it.
bool refused(const File& file, const std::function<void()>& read, const std::string& text) {
  std::string message = message_of(read);
  BOOST_TEST_INFO("message: " << message);
  return message.find(file.path) != message.npos && message.find(text) != message.npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(speech_suite)

BOOST_AUTO_TEST_CASE(a_wav_file_has_its_samples) {
  auto x = tones(500);
  File file(wav(x, 8000));
  Sound sound = read_sound(file.path);
  BOOST_TEST(sound.rate == 8000);
  for (double& v : x) v /= 32768;
  BOOST_TEST(distance(sound.samples, rows_by_rows(x, 500)) == 0);
  BOOST_TEST(read_sound(file.path, 8000).samples.rows() == 500);
}

BOOST_AUTO_TEST_CASE(what_is_no_sound_is_refused_by_name) {
  auto check = [](const Bytes& content, const std::string& text) {
    File file(content);
    BOOST_TEST(refused(
        file, [&] { read_sound(file.path, 16000); }, text));
  };
  check("this is no wav file", "no sound file");
  check("", "no sound file");
  check(wav({}), "no samples");
  check(wav({1, 2, 3, 4}, 16000, 2), "one channel expected, got 2");
  check(wav({1, 2, 3}, 44100), "16000 samples a second expected, got 44100");
  check(riff(3, 4, 16000, 1, 12, numbers<float>({0.5, std::nan(""), 0})), "NaN");
  BOOST_TEST(message_of([] { read_sound("/nowhere/x.wav"); }) == "/nowhere/x.wav: there is no such file");
}

BOOST_AUTO_TEST_CASE(a_header_that_promises_too_much_takes_no_memory) {
  File file(wav({1, 2, 3}, 16000, 1, 1 << 30));
  std::string message = message_of([&] { BOOST_TEST(read_sound(file.path).samples.rows() == 3); });
  BOOST_TEST((message.empty() || message.find(file.path) == 0), message);
}

BOOST_AUTO_TEST_CASE(frames_follow_their_formula) {
  auto x = tones(1003);
  FrameOptions o{0.020, 0.0075, "hamming", 0.97, true};  // 160 samples, 60 apart at 8 kHz
  BOOST_TEST(frame_count(1003, 8000, o) == 15);
  BOOST_TEST(frame_count(159, 8000, o) == 0);
  BOOST_TEST(frame_count(160, 8000, o) == 1);
  BOOST_TEST(relative_distance(frames(column(x), 8000, o), naive_frames(x, 160, 60, 0.97, 0.54, true)) < 1e-14);
  o = {0.020, 0.0075, "hann", 0, false};
  BOOST_TEST(relative_distance(frames(column(x), 8000, o), naive_frames(x, 160, 60, 0, 0.5, false)) < 1e-14);
  o.window = "rectangular";
  BOOST_TEST(relative_distance(frames(column(x), 8000, o), naive_frames(x, 160, 60, 0, 1, false)) < 1e-14);
  BOOST_CHECK_EXCEPTION(frames(column(tones(100)), 8000, o), Error, mentions("100 samples are too few"));
  o.window = "kaiser";
  BOOST_CHECK_EXCEPTION(frames(column(x), 8000, o), Error, mentions("'kaiser'"));
  o = {0.02, 0, "hann", 0, false};
  BOOST_CHECK_THROW(frames(column(x), 8000, o), Error);
}

// 10 ms are 220.5 samples at 22,050 Hz and 110.25 at 11,025 Hz. A click every 10 ms stays in the middle of its frame,
// and the last frame is where its label is, also after minutes.
BOOST_AUTO_TEST_CASE(frames_stay_at_their_times) {
  for (int rate : {22050, 11025}) {
    FrameOptions o{0.025, 0.010, "rectangular", 0, false};
    auto x = tones(3000);
    int length = static_cast<int>(std::lround(0.025 * rate));
    Dense expected = naive_frames(x, length, 0.010 * rate, 0, 1, false);
    BOOST_TEST(frame_count(3000, rate, o) == expected.rows());
    BOOST_TEST(relative_distance(frames(column(x), rate, o), expected) < 1e-14);
    for (Int last : {1, 2, 3, 4, 99, 12000}) {  // one sample less, and frame `last` does not fit
      Int samples = std::lround(0.010 * rate * static_cast<double>(last)) + length;
      BOOST_TEST(frame_count(samples, rate, o) == last + 1);
      BOOST_TEST(frame_count(samples - 1, rate, o) == last);
    }
    std::vector<double> clicks(60 * rate);
    for (Int t = 0; 0.0125 + 0.010 * static_cast<double>(t) < 60; ++t)
      clicks[static_cast<std::size_t>((0.0125 + 0.010 * static_cast<double>(t)) * rate)] = 1;
    Matrix F = frames(column(clicks), rate, o);
    Int middle = length / 2, off = 0;
    for (Int t = 0; t < F.rows(); ++t) {
      bool there = false;
      for (Int s = middle - 1; s <= middle + 1; ++s) there = there || F.get(t, s) == 1;
      off += !there;
    }
    BOOST_TEST(off == 0);
  }
}

BOOST_AUTO_TEST_CASE(spectra_log_mel_and_mfcc_follow_their_formulas) {
  auto x = tones(700);
  Dense windows = naive_frames(x, 200, 80, 0.97, 0.54, true);
  for (int size : {200, 256, 310}) {
    Dense power = naive_power(windows, size);
    BOOST_TEST(relative_distance(power_spectrum(as_matrix(windows), size), power) < 1e-12);
    Dense bands = naive_log_mel(power, 8000, 12, 100, 3800, 1e-10);
    Matrix ours = log_mel(power_spectrum(as_matrix(windows), size), 8000, {12, 100, 3800, 1e-10});
    BOOST_TEST(relative_distance(ours, bands) < 1e-11);
    BOOST_TEST(relative_distance(mfcc(ours, 12, 0), naive_mfcc(bands, 12, 0)) < 1e-11);
    BOOST_TEST(relative_distance(mfcc(ours, 7, 22), naive_mfcc(bands, 7, 22)) < 1e-11);
  }
  BOOST_TEST(transform_size(400) == 512);
  BOOST_TEST(transform_size(512) == 512);
}

BOOST_AUTO_TEST_CASE(silence_has_the_floor_as_its_energy) {
  Matrix ours = log_mel(power_spectrum(Matrix::zeros(2, 64), 64), 8000, {4, 0, 0, 1e-5});
  BOOST_TEST(distance(ours, Dense::Constant(2, 4, std::log(1e-5))) < 1e-14);
}

BOOST_AUTO_TEST_CASE(impossible_bands_and_sizes_are_refused) {
  Matrix power = power_spectrum(Matrix::zeros(2, 64), 64);
  BOOST_CHECK_EXCEPTION(log_mel(power, 8000, {4, 0, 5000, 1e-5}), Error, mentions("half the rate"));
  BOOST_CHECK_EXCEPTION(log_mel(power, 8000, {4, 900, 800, 1e-5}), Error, mentions("low < high"));
  BOOST_CHECK_EXCEPTION(log_mel(power, 8000, {100, 0, 0, 1e-5}), Error, mentions("fewer bands"));
  BOOST_CHECK_EXCEPTION(log_mel(power, 8000, {4, 0, 0, 0}), Error, mentions("floor > 0"));
  BOOST_CHECK_EXCEPTION(power_spectrum(Matrix::zeros(2, 64), 60), Error, mentions("at least a frame's 64"));
  BOOST_CHECK_EXCEPTION(power_spectrum(Matrix::zeros(2, 64), 65), Error, mentions("even size"));
  BOOST_CHECK_EXCEPTION(mfcc(Matrix::zeros(2, 10), 11, 0), Error, mentions("1 to 10 coefficients"));
}

BOOST_AUTO_TEST_CASE(deltas_and_splices_by_hand) {
  Matrix x = as_matrix(rows_by_rows({1, 10, 2, 20, 4, 40, 7, 70}, 4));
  // Reach 1: (x_{t+1} - x_{t-1}) / 2, the ends repeated.
  BOOST_TEST(distance(deltas(x, 1), rows_by_rows({0.5, 5, 1.5, 15, 2.5, 25, 1.5, 15}, 4)) < 1e-14);
  // Reach 2: (x_{t+1} - x_{t-1} + 2 (x_{t+2} - x_{t-2})) / 10.
  BOOST_TEST(distance(deltas(x, 2), rows_by_rows({0.7, 7, 1.5, 15, 1.7, 17, 1.3, 13}, 4)) < 1e-14);
  for (DType type : both_types) {
    Matrix out(4, 6, type);
    splice(x, 1, out);
    BOOST_TEST(distance(out, rows_by_rows({1, 10, 1, 10, 2, 20, 1, 10, 2, 20, 4, 40,  //
                                           2, 20, 4, 40, 7, 70, 4, 40, 7, 70, 7, 70},
                                          4)) == 0);
  }
  Matrix one(1, 22, DType::f64);
  splice(x.row_block(2, 1), 5, one);
  for (int i = 0; i < 11; ++i) BOOST_TEST((one.get(0, 2 * i) == 4 && one.get(0, 2 * i + 1) == 40));
  BOOST_CHECK_THROW(splice(x, 2, one), Error);
  BOOST_CHECK_THROW(splice(x, 1, Matrix::zeros(6, 4).t()), Error);
  BOOST_CHECK_THROW(deltas(x, 0), Error);
}

BOOST_AUTO_TEST_CASE(labels_with_times_are_read) {
  File file("separator ;\nnfields 1\n#\n0.030 125 pau\n  0.09  26  a \r\n\n0.150 125 \xD1\x8B\n");
  auto segments = read_lab(file.path);
  BOOST_TEST(segments.size() == 3);
  BOOST_TEST((segments[0].begin == 0 && segments[0].end == 0.03 && segments[0].name == "pau"));
  BOOST_TEST((segments[1].begin == 0.03 && segments[1].end == 0.09 && segments[1].name == "a"));
  BOOST_TEST((segments[2].begin == 0.09 && segments[2].end == 0.15 && segments[2].name == "\xD1\x8B"));
}

// Frames of 20 ms every 10 ms have their centres at 10, 20, 30, … ms.
BOOST_AUTO_TEST_CASE(thirds_of_a_segment_by_hand) {
  std::vector<Segment> segments = {{0, 0.035, "p"}, {0.035, 0.095, "a"}, {0.095, 0.105, "t"}};
  std::vector<std::string> whole = {"p", "p", "p", "a", "a", "a", "a", "a", "a", "t", "t"};
  BOOST_TEST(frame_labels(segments, 11, 1, 0.02, 0.01) == whole, boost::test_tools::per_element());
  // p: thirds of 11.67 ms; a: 35..55, 55..75, 75..95 ms; t: 95..98.3..101.7..105 ms.
  std::vector<std::string> thirds = {"p.1", "p.2", "p.3", "a.1", "a.1", "a.2", "a.2", "a.3", "a.3", "t.2", "t.3"};
  BOOST_TEST(frame_labels(segments, 11, 3, 0.02, 0.01) == thirds, boost::test_tools::per_element());
  BOOST_CHECK_EXCEPTION(frame_labels(segments, 12, 3, 0.02, 0.01), Error, mentions("the labels end at 0.105 s"));
  segments[2].begin = 0.101;
  BOOST_CHECK_EXCEPTION(frame_labels(segments, 11, 3, 0.02, 0.01), Error, mentions("frame 10 of 11, at 0.1 s"));
}

BOOST_AUTO_TEST_CASE(bad_labels_are_refused_by_file_and_line) {
  auto check = [](const Bytes& content, const std::string& text) {
    File file(content);
    BOOST_TEST(refused(
        file, [&] { read_lab(file.path); }, text));
  };
  check("#\n0.3 125 a\n0.2 125 b\n", "line 3: the segment ends at 0.2 s, not after 0.3 s");
  check("#\n0.3 125 a\n0.3 125 b\n", "line 3");
  check("#\n-1 125 a\n", "line 2");
  check("#\n0.3 a\n", "line 2: an end time, a number and a name expected, got '0.3 a'");
  check("#\n0.3 125 a b\n", "line 2");
  check("#\nx 125 a\n", "line 2: a time in seconds expected, got 'x'");
  check("#\nnan 125 a\n", "line 2: a time");
  check("#\n0.1 125 \xFF\n", "line 2: the name");
  check("0.3 125 a\n", "a line '#'");
  check("", "a line '#'");
  check("#\n", "no labels");
  BOOST_TEST(message_of([] { read_lab("/nowhere/x.lab"); }).find("/nowhere/x.lab") == 0);
}

// Rows of any numbers a rank, in the order of ranks.
BOOST_AUTO_TEST_CASE(rows_are_spread_in_their_order) {
  for (Int scale : {1, 3000}) {
    Int mine = scale * ((comm::rank() * 2 + 1) % 4 + (comm::rank() == 1)), before = 0, all = 0;
    for (int r = 0; r < comm::size(); ++r) {
      if (r == comm::rank()) before = all;
      all += scale * ((r * 2 + 1) % 4 + (r == 1));
    }
    Matrix rows(mine, 2, DType::f32);
    for (Int i = 0; i < mine; ++i)
      for (Int j = 0; j < 2; ++j) rows.set(i, j, static_cast<double>(2 * (before + i) + j));
    DataSet x = distribute(rows, "test");
    BOOST_TEST(x.n() == all);
    bool good = true;
    for (Int i = 0; i < x.local_n(); ++i)
      for (Int j = 0; j < 2; ++j) good = good && x.local().get(i, j) == static_cast<double>(2 * (x.first() + i) + j);
    BOOST_TEST(good);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kbcd::tests
