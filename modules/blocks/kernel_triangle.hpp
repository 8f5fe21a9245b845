// KernelTriangle: the whole kernel matrix K of a data set, of which one triangle is computed, kept and read.
//
// The rows, in a given order, are cut into tiles. Each rank holds its own rows s of the pieces K(s, u) of tile pairs
// s <= u, and a product takes each piece once, while it is in cache, for both of its places in K:
//
//   out_s += K(s, u) v_u,     out_u += K(s, u)ᵀ v_s  (s < u)
//
// Tiles are computed in groups of columns, when a product first needs one of them. Groups that fit into the memory
// budget stay; the others are computed again for each product. Pieces whose v is 0 on both sides, or whose result
// nobody asks for, are neither computed nor read.
#pragma once

#include <memory>

#include "modules/blocks/block.hpp"

namespace kbcd {

class KernelTriangle {
 public:
  struct Options {
    Int tile = 256, group = 8;                   // rows of a tile, tiles of a group
    Keep keep = Keep::exact;                     // exact, f16 or none
    std::optional<Matrix> scale = std::nullopt;  // this rank's rows x 1: the matrix is diag(s) K diag(s)
  };
  // order: all rows of x, each once (collective).
  KernelTriangle(DataSet x, std::shared_ptr<Kernel> kernel, Index order, const Options& options);
  ~KernelTriangle();
  KernelTriangle(const KernelTriangle&) = delete;

  Int rows() const { return x_.local_n(); }
  Int cols() const { return x_.n(); }
  Int tiles() const { return static_cast<Int>(tiles_.size()); }
  Int group() const { return group_tiles_; }
  Index tile(Int t) const;                          // its rows in x
  bool stays() const { return kept_ == groups(); }  // every group has its part of the budget, on every rank
  Int entries() const;                              // that are in memory here

  // K v, for this rank's rows of v: this rank's rows (collective).
  Matrix times(const Matrix& v);
  // K(I, [n]) v, for this rank's rows of v and I the rows of some tiles: this rank's part of the sum (collective).
  Matrix rows_times(const Index& tiles, const Matrix& v);
  // K(I, I): this rank's part of the sum, in the type of x (collective, while its tiles are not in memory).
  Matrix square(const Index& tiles);
  void release();  // frees the entries; a product computes them again

 private:
  friend class KernelColumns;
  struct Tile {
    Int first, count;          // its place in the order
    Int own_first, own_count;  // the same among this rank's rows
    Int group;
    Matrix slab;                     // K(own rows of the tiles up to this one, this tile), when kept
    std::unique_ptr<Buffer> halves;  // the same in f16
  };
  struct Piece {
    Int s, u;
    bool direct, transposed;  // which of its two products is wanted
  };
  template <class T>
  class Products;

  Int groups() const { return (tiles() + group_tiles_ - 1) / group_tiles_; }
  Int first_tile(Int group) const { return group * group_tiles_; }
  Int last_tile(Int group) const { return std::min(tiles(), (group + 1) * group_tiles_) - 1; }
  std::size_t bytes(Int group) const;
  void reserve_groups();
  template <class T>
  void fill(Int group);
  template <class T, class Visit>
  void compute(Int group, Visit&& visit);
  template <class T, class Visit>
  void with_stored(Int s, Int u, Visit&& visit) const;
  template <class T>
  Matrix product(const Matrix& all, const std::vector<Int>& wanted);
  Matrix product(const Matrix& v, const std::vector<Int>& wanted);
  std::vector<Int> checked(const Index& tiles) const;

  DataSet x_;
  std::shared_ptr<Kernel> kernel_;
  Index order_, own_;            // own_: this rank's rows, in the order, as local positions
  std::vector<Int> own_places_;  // and their places in the order
  std::vector<Tile> tiles_;
  Int group_tiles_;
  Keep keep_;
  std::optional<Matrix> scale_;
  Int kept_ = 0;  // groups [0, kept_) stay
  bool reserved_ = false, busy_ = false;
  std::vector<bool> filled_;  // by group
};

}  // namespace kbcd
