#include "modules/kernels/kernel.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "modules/kernels/column_widths.hpp"

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

// The names of the kernels that have something.
std::string names_with(bool KernelFormat::*what) {
  std::string all;
  for (auto& format : formats())
    if (format.*what) all += (all.empty() ? "" : ", ") + format.name;
  return all;
}

class Slope : public Kernel {
 public:
  explicit Slope(std::shared_ptr<Kernel> of) : of_(std::move(of)) {}
  std::string name() const override { return "slope of " + of_->name(); }
  Values params() const override { return of_->params(); }
  Metric metric() const override { return of_->metric(); }
  void kappa(View<float> values) const override { of_->slope(values); }
  void kappa(View<double> values) const override { of_->slope(values); }
  double value(std::span<const double> x, std::span<const double> y) const override {
    double t = metric_value(metric(), x, y);
    of_->slope(View<double>{&t, 1, 1, 1});
    return t;
  }

 private:
  std::shared_ptr<Kernel> of_;
};

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
  fail(
      "the {} kernel has no random Fourier features: it is not translation-invariant, or its measure is not known; "
      "kernels that have them: {}",
      name(), names_with(&KernelFormat::has_frequencies));
}

void Kernel::no_slope() const {
  fail("the {} kernel has no derivative here; kernels that have one: {}", name(), names_with(&KernelFormat::has_slope));
}

std::shared_ptr<Kernel> slope_of(std::shared_ptr<Kernel> kernel) {
  double one = 1;
  kernel->slope(View<double>{&one, 1, 1, 1});  // an Error where it has none
  return std::make_shared<Slope>(std::move(kernel));
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
  if (auto list = width ? given.find(*width) : given.end(); list != given.end())
    if (auto* values = std::get_if<std::vector<Value>>(&list->second)) return with_column_widths(*this, given, *values);
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
