// cosine: K(x, y) = x·y / (‖x‖ ‖y‖), and 0 where x or y is 0.
#include "modules/kernels/kernel.hpp"

namespace kbcd {
namespace {

class Cosine : public KernelOf<Cosine, Metric::cosine> {
 public:
  explicit Cosine(const Params&) {}
  std::string name() const override { return "cosine"; }
  template <class Array>
  void operator()(Array&) const {}
  double value(std::span<const double> x, std::span<const double> y) const override {
    return metric_value(Metric::cosine, x, y);
  }
};

const RegisteredKernel<Cosine> cosine({.name = "cosine", .formula = "x.y / (|x| |y|)"});

}  // namespace
}  // namespace kbcd
