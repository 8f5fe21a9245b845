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
};

const RegisteredKernel<Linear> linear("linear", {}, "x.y");

}  // namespace
}  // namespace kbcd
