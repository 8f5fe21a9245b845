// BytePanels: K(x, c) for rows x and centres c that are kept as bytes u and w with the same code x = s (u + t), on a
// CPU that multiplies bytes (core/byte_tiles.hpp). From P = Σ u (w − 128), which is exact, come the integers
//
//   ‖x − c‖² / s² = (Σu² − 256 Σu) + Σw² − 2P
//   x·c / s²      = ((128 + t) Σu + d t²) + t Σw + P
//
// which are rounded once, when they become real numbers; cosines are the latter over the lengths. Rows of more than
// `longest` bytes are taken in parts, whose integers fit into 32 bits, and which are added in f64.
#pragma once

#include "core/byte_tiles.hpp"
#include "modules/blocks/panel_source.hpp"

namespace kbcd {

class BytePanels : public PanelSource {
 public:
  // Whether K(x, c) can be computed so; else by KernelPanels, from the numbers that the bytes stand for.
  static bool suit(const DataSet& x, const Kernel& kernel, const DataSet& centers);

  BytePanels(DataSet x, std::optional<Index> rows, std::shared_ptr<Kernel> kernel, ByteMatrix centers);
  const char* name() const override { return "KernelBlock"; }
  const char* counter() const override { return "kernel entries"; }
  Int cols() const override { return centers_.rows(); }
  bool main_thread_only() const override { return kernel_->main_thread_only(); }

  static constexpr Int longest = 1 << 15;  // 2^15 · 255² < 2^31

 protected:
  std::unique_ptr<PanelSource> unscaled_square() const override;
  void compute(Rows rows, View<float> out) const override { panel(rows, out); }
  void compute(Rows rows, View<double> out) const override { panel(rows, out); }

 private:
  // What a row or a centre adds to every integer, for each part; and 1 / its length (cosine; 0 for zeros), in units of
  // s.
  struct Terms {
    std::vector<std::uint32_t> of_parts;
    double inverse_length = 0;
  };
  enum class Side { row, centre };

  Int parts() const { return (data().d() + longest - 1) / longest; }
  Terms terms(const std::uint8_t* bytes, Side side) const;
  template <class T>
  void panel(Rows rows, View<T> out) const;
  template <class T>
  void metric_values(const tiles::ByteRows& rows, const std::vector<Terms>& terms, Int first, View<T> out) const;

  std::shared_ptr<Kernel> kernel_;
  ByteMatrix centers_;
  tiles::ByteColumns packed_;
  std::vector<std::vector<std::uint32_t>> own_;  // the terms of the centres: by part, by centre
  std::vector<double> inverse_lengths_;          // of the centres (cosine)
};

}  // namespace kbcd
