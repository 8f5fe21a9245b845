// Kernels K(x, y) = kappa(metric(x, y)).
//
// A kernel is one file: a class with its formula on top, derived from KernelOf, and `static const
// RegisteredKernel<…>` at its end. The panel machinery computes the metric through one gemm; kappa works in
// place.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.hpp"
#include "core/random.hpp"

namespace kbcd {

enum class Metric { dot, cosine, sqeuclidean, manhattan };

const char* name(Metric metric);
Metric parse_metric(const std::string& text);

// Named numbers such as {sigma = 5}; what is not `known` is an error that lists what is.
class Params {
 public:
  Params(std::string owner, std::map<std::string, double> values, const std::vector<std::string>& known);

  bool has(const std::string& key) const { return values_.contains(key); }
  double positive(const std::string& key, double otherwise) const;
  double any(const std::string& key, double otherwise) const;
  // gamma from `gamma`, or from `sigma` by the formula; exactly one of the two.
  double gamma_or_sigma(double (*gamma_of_sigma)(double)) const;
  [[noreturn]] void complain(const std::string& message) const;

 private:
  std::string owner_;
  std::map<std::string, double> values_;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::string name() const = 0;
  virtual std::map<std::string, double> params() const { return {}; }  // every one, derived ones too
  virtual Metric metric() const = 0;
  virtual bool is_linear() const { return false; }  // K(x, y) = x·y, which factors

  // Metric values to kernel values, in place, on rows of a panel.
  virtual void kappa(View<float> values) const = 0;
  virtual void kappa(View<double> values) const = 0;
  virtual bool main_thread_only() const { return false; }  // kappa wants whole panels, on the main thread

  // omega ~ the spectral measure of a translation-invariant kernel (Bochner), as number j of (seed, stream).
  virtual void frequency(std::uint64_t seed, Int j, std::span<double> omega) const;
  virtual bool isotropic() const { return false; }  // that measure depends on |omega| alone
};

std::string describe(const Kernel& kernel);  // "rbf{gamma=0.02, sigma=5}"

// Lets a kernel write kappa once, on an Eigen array expression of either type.
template <class Derived, Metric metric_>
class KernelOf : public Kernel {
 public:
  Metric metric() const override { return metric_; }
  void kappa(View<float> values) const override { lines(values); }
  void kappa(View<double> values) const override { lines(values); }

 private:
  template <class T>
  void lines(View<T> values) const {
    for (Int i = 0; i < values.rows; ++i) {
      Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>> line(values.line(i), values.cols);
      static_cast<const Derived&> (*this)(line);
    }
  }
};

struct KernelFormat {
  std::string name;
  std::vector<std::string> params;
  std::string formula;
  std::function<std::shared_ptr<Kernel>(std::map<std::string, double>)> make;
};

const std::vector<KernelFormat>& kernel_formats();
void register_kernel(KernelFormat format);

template <class K>
struct RegisteredKernel {
  RegisteredKernel(const char* name, std::vector<std::string> params, const char* formula) {
    register_kernel({name, params, formula, [=](std::map<std::string, double> values) {
                       return std::make_shared<K>(Params(std::string("kernel.") + name, std::move(values), params));
                     }});
  }
};

}  // namespace kbcd
