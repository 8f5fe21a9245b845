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
};

const RegisteredKernel<Cosine> cosine("cosine", {}, "x.y / (|x| |y|)");

}  // namespace
}  // namespace kbcd
