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

Params::Params(std::string owner, std::map<std::string, double> values, const std::vector<std::string>& known)
    : owner_(std::move(owner)), values_(std::move(values)) {
  for (auto& [key, value] : values_) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      complain(known.empty() ? fmt::format("it takes no options, got '{}'", key)
                             : fmt::format("unknown option '{}'; known: {}", key, fmt::join(known, ", ")));
    if (!std::isfinite(value)) complain(fmt::format("{} must be a finite number, got {}", key, value));
  }
}

double Params::positive(const std::string& key, double otherwise) const {
  double value = any(key, otherwise);
  if (!(value > 0)) complain(fmt::format("{} > 0 expected, got {}", key, value));
  return value;
}

double Params::any(const std::string& key, double otherwise) const {
  auto it = values_.find(key);
  return it == values_.end() ? otherwise : it->second;
}

double Params::gamma_or_sigma(double (*gamma_of_sigma)(double)) const {
  if (has("gamma") == has("sigma")) complain("exactly one of sigma and gamma expected");
  double gamma = has("gamma") ? positive("gamma", 0) : gamma_of_sigma(positive("sigma", 0));
  if (!(gamma > 1e-30 && gamma < 1e30)) complain(fmt::format("gamma = {:.3g} is beyond what f32 holds", gamma));
  return gamma;
}

void Params::complain(const std::string& message) const {
  fail("{}: {}", owner_, message);
}

void Kernel::frequency(std::uint64_t, Int, std::span<double>) const {
  fail(
      "the {} kernel has no random Fourier features: it is not translation-invariant, or its measure is not "
      "known; "
      "rbf, laplacian and matern have them",
      name());
}

std::string describe(const Kernel& kernel) {
  std::string params;
  for (auto& [key, value] : kernel.params())
    params += fmt::format("{}{}={:.6g}", params.empty() ? "" : ", ", key, value);
  return kernel.name() + "{" + params + "}";
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
