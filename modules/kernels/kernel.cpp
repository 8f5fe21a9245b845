#include "modules/kernels/kernel.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace kbcd {
namespace {

std::vector<KernelFormat>& formats() {
  static std::vector<KernelFormat> formats;
  return formats;
}

constexpr std::pair<Metric, const char*> metrics[] = {{Metric::dot, "dot"},
                                                      {Metric::cosine, "cosine"},
                                                      {Metric::sqeuclidean, "sqeuclidean"},
                                                      {Metric::manhattan, "manhattan"}};

}  // namespace

const char* name(Metric metric) {
  for (auto& [value, text] : metrics)
    if (value == metric) return text;
  return "";
}

Metric parse_metric(const std::string& text) {
  for (auto& [value, known] : metrics)
    if (text == known) return value;
  fail("kernel.custom: metric: one of dot, cosine, sqeuclidean, manhattan expected, got '{}'", text);
}

void Kernel::frequency(std::uint64_t, Int, std::span<double>) const {
  std::string with;
  for (auto& format : formats())
    if (format.has_frequencies) with += (with.empty() ? "" : ", ") + format.name;
  fail(
      "the {} kernel has no random Fourier features: it is not translation-invariant, or its measure is not known; "
      "kernels that have them: {}",
      name(), with);
}

std::string describe(const Kernel& kernel) {
  return fmt::format("{}{{{}}}", kernel.name(), text_of(kernel.params()));
}

double metric_value(Metric metric, std::span<const double> x, std::span<const double> y) {
  long double dot = 0, xx = 0, yy = 0, squares = 0, steps = 0;  // holds squares of any number
  for (std::size_t i = 0; i < x.size(); ++i) {
    long double a = x[i], b = y[i];
    dot += a * b, xx += a * a, yy += b * b;
    squares += (a - b) * (a - b);
    steps += std::abs(a - b);
  }
  switch (metric) {
    case Metric::dot:
      return static_cast<double>(dot);
    case Metric::cosine:
      return xx > 0 && yy > 0 ? static_cast<double>(dot / (std::sqrt(xx) * std::sqrt(yy))) : 0;
    case Metric::sqeuclidean:
      return static_cast<double>(squares);
    case Metric::manhattan:
      return static_cast<double>(steps);
  }
  return 0;
}

double gamma_or_sigma(const Params& params, double (*gamma_of_sigma)(double)) {
  double gamma = params.has("gamma") ? params.number("gamma") : gamma_of_sigma(params.number("sigma"));
  if (!(gamma > 1e-30 && gamma < 1e30)) params.complain(fmt::format("gamma = {:.3g} is beyond what f32 holds", gamma));
  return gamma;
}

std::shared_ptr<Kernel> KernelFormat::make(const Values& given) const {
  Params values("kernel." + name, params, given);
  if (width && values.has(*width)) {  // its square and what is divided by it must be numbers in f32
    double wide = values.number(*width);
    if (!(wide > 1e-15 && wide < 1e15))
      values.complain(fmt::format("{} = {:.3g}: a width from 1e-15 to 1e15 expected; scale the data", *width, wide));
  }
  return build(values);
}

const std::vector<KernelFormat>& kernel_formats() {
  return formats();
}

void register_kernel(KernelFormat format) {
  auto& all = formats();
  all.push_back(std::move(format));
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.name < b.name; });
}

}  // namespace kbcd
