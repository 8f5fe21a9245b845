// Kernels K(x, y) = kappa(metric(x, y)).
//
// A kernel is one file: a class with its formula on top, derived from KernelOf, and `const RegisteredKernel<…>` with
// its declaration at its end, from which checks, help, the flags of the commands and the contract tests come. The panel
// machinery computes the metric through one gemm; kappa works in place.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.hpp"
#include "core/random.hpp"
#include "modules/params/params.hpp"

namespace kbcd {

enum class Metric { dot, cosine, sqeuclidean, manhattan };

const char* name(Metric metric);
Metric parse_metric(const std::string& text);

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::string name() const = 0;
  virtual Values params() const { return {}; }  // all of them, also derived ones
  virtual Metric metric() const = 0;
  virtual bool is_linear() const { return false; }  // K(x, y) = x·y, which factors

  // Metric values to kernel values, in place, on rows of a panel.
  virtual void kappa(View<float> values) const = 0;
  virtual void kappa(View<double> values) const = 0;
  virtual bool main_thread_only() const { return false; }  // kappa needs whole panels, on the main thread

  // Metric values t to dkappa/dt, in place, for gradients of models; 0 where a kernel is not differentiable.
  virtual void slope(View<float>) const { no_slope(); }
  virtual void slope(View<double>) const { no_slope(); }

  // A width for each column, and the kernel of width 1 behind it; or nothing (column_widths.hpp).
  virtual std::vector<double> widths() const { return {}; }
  virtual std::shared_ptr<Kernel> unit() const { return nullptr; }

  // omega ~ the spectral measure of a translation-invariant kernel (Bochner), as number j of (seed, stream).
  virtual void frequency(std::uint64_t seed, Int j, std::span<double> omega) const;
  virtual bool isotropic() const { return false; }  // that measure depends on |omega| alone
  // The quantile, for u in (0, 1), of every coordinate of omega, where they are independent.
  virtual std::optional<double> frequency_quantile(double) const { return {}; }

  // K(x, y) of two points as the textbooks write it, without kappa: what the tests compare with.
  virtual double value(std::span<const double> x, std::span<const double> y) const = 0;

 protected:
  [[noreturn]] void no_slope() const;
};

std::string describe(const Kernel& kernel);  // "rbf{gamma=0.02, sigma=5}"

// The kernel whose kappa is the slope of another: blocks of it give gradients.
std::shared_ptr<Kernel> slope_of(std::shared_ptr<Kernel> kernel);

// metric(x, y) of two points, by a plain loop.
double metric_value(Metric metric, std::span<const double> x, std::span<const double> y);

// gamma from `gamma`, or from `sigma` by the formula; refused where f32 does not hold it.
double gamma_or_sigma(const Params& params, double (*gamma_of_sigma)(double));

// Lets a kernel write kappa, operator()(t), once, on an Eigen array expression of either type; and its slope, if it has
// one, as derivative(t).
template <class Derived, Metric metric_>
class KernelOf : public Kernel {
 public:
  static constexpr Metric own_metric = metric_;
  Metric metric() const override { return metric_; }
  void kappa(View<float> values) const override { lines(values); }
  void kappa(View<double> values) const override { lines(values); }
  void slope(View<float> values) const override { slopes(values); }
  void slope(View<double> values) const override { slopes(values); }

 private:
  template <class T>
  using Line = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;

  const Derived& derived() const { return static_cast<const Derived&>(*this); }

  template <class T>
  void lines(View<T> values) const {
    for (Int i = 0; i < values.rows; ++i) {
      Line<T> line(values.line(i), values.cols);
      derived()(line);
    }
  }

  template <class T>
  void slopes(View<T> values) const {
    if constexpr (requires(const Derived& kernel, Line<T>& line) { kernel.derivative(line); }) {
      for (Int i = 0; i < values.rows; ++i) {
        Line<T> line(values.line(i), values.cols);
        derived().derivative(line);
      }
    } else {
      no_slope();
    }
  }
};

struct KernelDeclaration {
  std::string name, formula;
  std::vector<Param> params = {};
  // The parameter that grows with the distances of the data. Where it has no value of its own and is not given, the
  // commands take half the median distance.
  std::optional<std::string> width = {};
};

struct KernelFormat : KernelDeclaration {
  Metric metric;
  bool has_frequencies, has_slope;
  std::function<std::shared_ptr<Kernel>(const Params&)> build;

  std::shared_ptr<Kernel> make(const Values& given) const;
};

const std::vector<KernelFormat>& kernel_formats();  // by name
void register_kernel(KernelFormat format);

template <class K>
struct RegisteredKernel {
  explicit RegisteredKernel(KernelDeclaration declared) {
    constexpr bool has_frequencies = !std::is_same_v<decltype(&K::frequency), decltype(&Kernel::frequency)>;
    constexpr bool has_slope = requires(const K& kernel, Eigen::Map<Eigen::Array<float, 1, Eigen::Dynamic>>& line) {
      kernel.derivative(line);
    };
    register_kernel({std::move(declared), K::own_metric, has_frequencies, has_slope,
                     [](const Params& params) { return std::make_shared<K>(params); }});
  }
};

}  // namespace kbcd
