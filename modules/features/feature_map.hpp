// Random feature maps z(x) in R^p with E z(x)·z(y) = K(x, y).
//
// A map is one file: a class derived from FeatureMap and `const RegisteredFeatureMap<…>` with its declaration at its
// end. Feature j depends on (seed, j) alone, so that any rank makes any block of features.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/csr.hpp"
#include "core/index.hpp"
#include "core/matrix.hpp"
#include "modules/features/phases.hpp"
#include "modules/kernels/kernel.hpp"

namespace kbcd {

// The columns I of a map, ready to be applied to panels of rows.
class FeatureBlock {
 public:
  virtual ~FeatureBlock() = default;
  virtual void apply(View<float> x, View<float> z) const = 0;
  virtual void apply(View<double> x, View<double> z) const = 0;
  // The same on rows of sparse data, for blocks that FeatureMap::sparse_block made.
  virtual void apply(const Csr& x, std::span<const Int> rows, View<float> z) const;
  virtual void apply(const Csr& x, std::span<const Int> rows, View<double> z) const;
};

class FeatureMap {
 public:
  virtual ~FeatureMap() = default;
  virtual std::string name() const = 0;
  virtual Int p() const = 0;
  virtual std::shared_ptr<Kernel> kernel() const { return nullptr; }  // the one it approximates, if any
  virtual std::optional<std::uint64_t> seed() const { return {}; }    // where it is random
  virtual Values params() const { return {}; }                        // those of its own declaration
  virtual std::shared_ptr<FeatureBlock> block(const Index& features, Int d, DType dtype) const = 0;
  // The same for sparse rows, of which the longest has this Euclidean length; an Error for maps that take dense rows.
  virtual std::shared_ptr<FeatureBlock> sparse_block(const Index& features, Int d, DType dtype,
                                                     double longest_row) const;
  virtual bool main_thread_only() const { return false; }
  // Features that follow each other are computed together, so that blocks take them in order.
  virtual bool in_order() const { return false; }
};

std::string describe(const FeatureMap& map);  // "fourier{kernel=rbf{gamma=0.02, sigma=5}, p=100, seed=1}"

// What a registered map is made of; `own` are the parameters that it declares.
struct MapSettings {
  std::shared_ptr<Kernel> kernel;
  Int p;
  std::uint64_t seed;
  Params own;
};

// z_j(x) = sqrt(2/p) cos(omega_j·x + phase_j): what every map of Fourier cosines shares.
class CosineMap : public FeatureMap {
 public:
  explicit CosineMap(MapSettings settings);

  Int p() const override { return settings_.p; }
  std::shared_ptr<Kernel> kernel() const override { return settings_.kernel; }
  std::optional<std::uint64_t> seed() const override { return settings_.seed; }
  Values params() const override { return settings_.own.values(); }
  std::shared_ptr<FeatureBlock> block(const Index& features, Int d, DType dtype) const override;
  std::shared_ptr<FeatureBlock> sparse_block(const Index& features, Int d, DType dtype,
                                             double longest_row) const override;

 protected:
  virtual void frequencies(const Index& features, View<double> omega) const = 0;  // a row each
  // How many features are made at once for sparse rows of d columns; a map whose features are made together says all.
  virtual Int made_at_once(Int count) const { return count; }
  virtual double phase(Int feature) const;  // in turns, uniform
  // The same for maps whose features 2m and 2m + 1 share a frequency: a quarter of a turn apart, so that the two are
  // its cosine and its sine, and their products sum to cos(omega·(x − y)).
  double paired_phase(Int feature) const;

  MapSettings settings_;

 private:
  Phases phases(const Index& features) const;
};

struct FeatureMapDeclaration {
  std::string name, formula;
  std::vector<Param> params = {};
};

struct FeatureMapFormat : FeatureMapDeclaration {
  std::function<std::shared_ptr<FeatureMap>(MapSettings)> build;

  std::shared_ptr<FeatureMap> make(std::shared_ptr<Kernel> kernel, Int p, std::uint64_t seed,
                                   const Values& own = {}) const {
    return build({std::move(kernel), p, seed, Params("features." + name, params, own)});
  }
};

const std::vector<FeatureMapFormat>& feature_map_formats();  // by name
void register_feature_map(FeatureMapFormat format);

template <class M>
struct RegisteredFeatureMap {
  explicit RegisteredFeatureMap(FeatureMapDeclaration declared) {
    register_feature_map({std::move(declared), [](MapSettings settings) -> std::shared_ptr<FeatureMap> {
                            return std::make_shared<M>(std::move(settings));
                          }});
  }
};

}  // namespace kbcd
