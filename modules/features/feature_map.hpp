// Random feature maps z(x) in R^p with E z(x)·z(y) = K(x, y).
//
// A map is one file: a class derived from FeatureMap and `static const RegisteredFeatureMap<…>` at its end.
// Feature j depends on (seed, j) alone, so that any rank makes any block of features.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/csr.hpp"
#include "core/index.hpp"
#include "core/matrix.hpp"
#include "modules/kernels/kernel.hpp"

namespace kbcd {

// The columns I of a map, ready to be applied to panels of rows.
class FeatureBlock {
 public:
  virtual ~FeatureBlock() = default;
  virtual void apply(View<float> x, View<float> z) const = 0;
  virtual void apply(View<double> x, View<double> z) const = 0;
  // The same on rows of sparse data, for maps that can; prepare_sparse() is called once before.
  virtual void prepare_sparse();
  virtual void apply(const Csr& x, std::span<const Int> rows, View<float> z) const;
  virtual void apply(const Csr& x, std::span<const Int> rows, View<double> z) const;
};

class FeatureMap {
 public:
  virtual ~FeatureMap() = default;
  virtual std::string name() const = 0;
  virtual Int p() const = 0;
  virtual std::string describe() const = 0;
  virtual std::shared_ptr<FeatureBlock> block(const Index& features, Int d, DType dtype) const = 0;
  virtual bool main_thread_only() const { return false; }
};

// z_j(x) = sqrt(2/p) cos(omega_j·x + phase_j): what every map of Fourier cosines shares.
class CosineMap : public FeatureMap {
 public:
  CosineMap(std::shared_ptr<Kernel> kernel, Int p, std::uint64_t seed);

  Int p() const override { return p_; }
  std::string describe() const override;
  std::shared_ptr<FeatureBlock> block(const Index& features, Int d, DType dtype) const override;

 protected:
  virtual void frequencies(const Index& features, View<double> omega) const = 0;  // a row each

  std::shared_ptr<Kernel> kernel_;
  Int p_;
  std::uint64_t seed_;
};

struct FeatureMapFormat {
  std::string name, formula;
  std::function<std::shared_ptr<FeatureMap>(std::shared_ptr<Kernel>, Int p, std::uint64_t seed)> make;
};

const std::vector<FeatureMapFormat>& feature_map_formats();
void register_feature_map(FeatureMapFormat format);

template <class M>
struct RegisteredFeatureMap {
  RegisteredFeatureMap(const char* name, const char* formula) {
    register_feature_map({name, formula, [](std::shared_ptr<Kernel> kernel, Int p, std::uint64_t seed) {
                            return std::make_shared<M>(std::move(kernel), p, seed);
                          }});
  }
};

}  // namespace kbcd
