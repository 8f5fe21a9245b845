// BlockStore: the numbers of one block in memory, in their own type or in f16, and which blocks are kept.
//
// A block that is to stay holds its part of the budget until it is released or destroyed, if the budget has memory for
// it and for one more of its size. The others replace each other, the least recently used first.
#pragma once

#include <memory>

#include "core/matrix.hpp"
#include "core/tiles.hpp"

namespace kbcd {

// none: computed again for each product; exact: stays, in its own type; f16: stays, in half the memory of f32.
enum class Keep { while_it_fits, none, exact, f16 };

// A buffer for a panel, with rows that do not fall on the same cache lines.
template <class T>
Matrix panel_buffer(Int rows, Int cols) {
  return Matrix(rows, tiles::row_stride<T>(cols), dtype_of<T>).col_block(0, cols);
}

class BlockStore {
 public:
  BlockStore(const char* name, Int rows, Int cols, DType dtype, Keep keep);
  ~BlockStore();
  BlockStore(const BlockStore&) = delete;

  std::size_t bytes() const;  // what the block takes when kept
  Keep keep() const { return keep_; }
  bool half() const { return keep_ == Keep::f16; }
  bool filled() const { return filled_; }
  void set_filled(bool filled) { filled_ = filled; }
  bool stays() const { return stays_; }
  bool has_lines() const { return reserved_ && !half(); }  // kept in their own type

  // Reserves memory for this block, if the budget has it; releases older blocks that need not stay. Whether it did.
  bool reserve();
  // The first product was with 0 and needed no entries: the next is likely the only one, and does not keep the block
  // (unless it is to stay).
  void zero_product() { passes_next_ = !used_ && keep_ == Keep::while_it_fits; }
  void release();  // frees the numbers

  template <class T>
  View<T> lines(Int first, Int count) const {
    return slab_.view<T>().rows_from(first, count);
  }
  View<std::uint16_t> halves(Int first, Int count) const {
    return {static_cast<std::uint16_t*>(halves_->data()) + first * cols_, count, cols_, cols_};
  }
  // Rows from `first`, kept in f16: stores `lines` if they are new, and sets them to the stored values.
  void through_halves(Int first, View<float> lines) const;

  // As long as one exists, the block is computed or read, and a kernel written in Lua can neither use nor release it.
  class Use {
   public:
    explicit Use(BlockStore& store) : store_(store) { store_.busy_ = true; }
    ~Use() { store_.busy_ = false; }
    Use(const Use&) = delete;

   private:
    BlockStore& store_;
  };

 private:
  void require_idle() const;
  static bool push_out_oldest();

  const char* name_;
  Int rows_, cols_;
  DType dtype_;
  Keep keep_;
  Matrix slab_;                     // rows x cols, when kept in its own type
  std::unique_ptr<Buffer> halves_;  // the same in f16
  bool reserved_ = false;
  bool filled_ = false;
  bool stays_ = false;  // others do not replace it
  bool busy_ = false;
  bool used_ = false, passes_next_ = false;
};

}  // namespace kbcd
