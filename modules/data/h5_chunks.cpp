#include "modules/data/h5_chunks.hpp"

#include <zlib.h>

namespace kbcd::h5 {
namespace {

using Bytes = std::vector<unsigned char>;

// What deflate packed, or nothing where it did not or is longer than `most`.
Bytes inflated(const Bytes& packed, std::size_t most) {
  Bytes out(most + 1);
  uLongf length = out.size();
  bool good = uncompress(out.data(), &length, packed.data(), packed.size()) == Z_OK;
  out.resize(good && length <= most ? length : 0);
  return out;
}

struct Chunks {
  const std::string& where;
  hid_t dataset;
  std::vector<H5Z_filter_t> filters;
  std::vector<hsize_t> shape;
  hsize_t bytes;  // of one, unpacked
  bool packs_edges = true;

  Chunks(const std::string& where, hid_t dataset, const H5Extent& extent)
      : where(where), dataset(dataset), shape(extent.shape.size()), bytes(extent.bytes) {
    Handle properties(H5Dget_create_plist(dataset), H5Pclose);
    int count = H5Pget_layout(properties) == H5D_CHUNKED ? H5Pget_nfilters(properties) : 0;
    for (int i = 0; i < count; ++i) {
      unsigned flags, config;
      std::size_t values = 0;
      filters.push_back(H5Pget_filter2(properties, i, &flags, &values, nullptr, 0, nullptr, &config));
      bool known =
          filters[i] == H5Z_FILTER_DEFLATE || filters[i] == H5Z_FILTER_SHUFFLE || filters[i] == H5Z_FILTER_FLETCHER32;
      require(known, "{}: packed by a filter that is not read here (number {}); h5repack -f GZIP=6 changes that", where,
              static_cast<int>(filters[i]));
    }
    if (count <= 0) return;
    H5Pget_chunk(properties, static_cast<int>(shape.size()), shape.data());
    for (hsize_t size : shape) bytes *= size;
    unsigned options = 0;
    H5Pget_chunk_opts(properties, &options);
    packs_edges = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0;
  }

  bool at_edge(const std::vector<hsize_t>& at, const H5Extent& extent) const {
    for (std::size_t j = 0; j < at.size(); ++j)
      if (at[j] + shape[j] > static_cast<hsize_t>(extent.shape[j])) return true;
    return false;
  }

  // How many bytes the filters make of a stored chunk; `at` is its first element.
  std::size_t unpacked(const std::vector<hsize_t>& at, unsigned skipped, hsize_t stored) const {
    bool read = false;
    Bytes content;
    std::size_t size = stored;
    for (std::size_t i = filters.size(); i-- > 0;) {
      if (skipped >> i & 1) continue;
      if (filters[i] == H5Z_FILTER_FLETCHER32) size -= std::min<std::size_t>(size, 4);
      if (filters[i] != H5Z_FILTER_DEFLATE) continue;
      if (!read) {
        content.resize(stored);
        std::uint32_t mask = 0;
        auto call = [&] { return H5Dread_chunk(dataset, H5P_DEFAULT, at.data(), &mask, content.data()); };
        check(guarded(where, call) >= 0, "{}: damaged", where);
        read = true;
      }
      content.resize(size);
      content = inflated(content, bytes + 4 * filters.size());
      size = content.size();
    }
    return size;
  }
};

}  // namespace

void require_whole_chunks(const std::string& where, hid_t dataset, const H5Extent& extent, Int file_bytes, Int first,
                          Int count) {
  Chunks chunks(where, dataset, extent);
  if (chunks.filters.empty() || count == 0) return;
  std::vector<hsize_t> at(extent.shape.size(), 0);
  at[0] = first / chunks.shape[0] * chunks.shape[0];
  for (std::size_t k = 0; k < at.size();) {
    unsigned skipped = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t stored = 0;
    auto call = [&] { return H5Dget_chunk_info_by_coord(dataset, at.data(), &skipped, &address, &stored); };
    check(guarded(where, call) >= 0, "{}: damaged", where);
    if (address != HADDR_UNDEF) {
      if (!chunks.packs_edges && chunks.at_edge(at, extent)) skipped = ~0u;
      require(stored <= static_cast<hsize_t>(file_bytes) && chunks.bytes <= stored * best_ratio &&
                  chunks.unpacked(at, skipped, stored) == chunks.bytes,
              "{}: damaged: a chunk of {} bytes cannot have been stored in {}", where, chunks.bytes, stored);
    }
    // The next one: along the last dimension first.
    for (k = 0; k < at.size(); ++k) {
      std::size_t j = at.size() - 1 - k;
      hsize_t end = j == 0 ? first + count : extent.shape[j];
      if ((at[j] += chunks.shape[j]) < end) break;
      at[j] = 0;
    }
  }
}

}  // namespace kbcd::h5
