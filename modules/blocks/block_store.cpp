#include "modules/blocks/block_store.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include "core/half.hpp"

namespace kbcd {
namespace {

std::list<BlockStore*> kept_blocks;  // those that do not stay, the most recently used last

}  // namespace

BlockStore::BlockStore(const char* name, Int rows, Int cols, DType dtype, Keep keep)
    : name_(name), rows_(rows), cols_(cols), dtype_(dtype), keep_(keep) {
  require(!half() || dtype == DType::f32, "{}: keep = \"f16\" is for f32 data, and this is {}", name,
          kbcd::name(dtype));
}

BlockStore::~BlockStore() {
  busy_ = false;
  release();
}

std::size_t BlockStore::bytes() const {
  if (half()) return rows_ * cols_ * sizeof(std::uint16_t);
  return dispatch(dtype_, [&]<class T>() { return rows_ * tiles::row_stride<T>(cols_) * sizeof(T); });
}

void BlockStore::require_idle() const {
  require(!busy_, "this block is being computed: a kernel or map written in Lua must not use the block it is part of");
}

void BlockStore::release() {
  require_idle();
  if (!reserved_) return;
  if (!stays_) kept_blocks.remove(this);
  memory::unreserve(bytes());
  slab_ = Matrix();
  halves_.reset();
  reserved_ = filled_ = stays_ = false;
}

bool BlockStore::push_out_oldest() {
  auto idle = std::find_if(kept_blocks.begin(), kept_blocks.end(), [](BlockStore* block) { return !block->busy_; });
  if (idle == kept_blocks.end()) return false;
  (*idle)->release();
  return true;
}

bool BlockStore::reserve() {
  require_idle();
  used_ = true;
  if (std::exchange(passes_next_, false) || keep_ == Keep::none) return false;
  if (reserved_) {
    if (!stays_)
      kept_blocks.splice(kept_blocks.end(), kept_blocks, std::find(kept_blocks.begin(), kept_blocks.end(), this));
    return true;
  }
  bool wants_to_stay = keep_ != Keep::while_it_fits;
  while (wants_to_stay && !(stays_ = memory::reserve(bytes(), bytes())) && push_out_oldest()) {
  }
  while (!stays_ && !memory::reserve(bytes()))
    if (bytes() > memory::budget() || !push_out_oldest()) return false;
  if (!stays_) kept_blocks.push_back(this);
  reserved_ = true;
  if (half())
    halves_ = std::make_unique<Buffer>(bytes());
  else
    slab_ = dispatch(dtype_, [&]<class T>() { return panel_buffer<T>(rows_, cols_); });
  return true;
}

void BlockStore::through_halves(Int first, View<float> lines) const {
  if (!reserved_ || !half()) return;
  for (Int i = 0; i < lines.rows; ++i) {
    auto* halves = this->halves(first + i, 1).data;
    require(filled_ || half::pack(lines.line(i), halves, cols_),
            "{}: a value in row {} is larger than f16 holds ({}); keep = \"exact\" holds it", name_, first + i + 1,
            half::largest);
    half::unpack(halves, lines.line(i), cols_);
  }
}

}  // namespace kbcd
