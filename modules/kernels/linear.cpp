// linear: K(x, y) = x·y.
#include "modules/kernels/kernel.hpp"

namespace kbcd {
namespace {

class Linear : public KernelOf<Linear, Metric::dot> {
 public:
  explicit Linear(const Params&) {}
  std::string name() const override { return "linear"; }
  bool is_linear() const override { return true; }
  template <class Array>
  void operator()(Array&) const {}
  double value(std::span<const double> x, std::span<const double> y) const override {
    return metric_value(Metric::dot, x, y);
  }
};

const RegisteredKernel<Linear> linear({.name = "linear", .formula = "x.y"});

}  // namespace
}  // namespace kbcd
