// What the files of the HDF5 wrapper share: identifiers that close themselves, errors with HDF5's own reason, types.
#pragma once

#define H5_USE_110_API
#include <hdf5.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "modules/data/h5_guard.hpp"

namespace kbcd::h5 {

static_assert(sizeof(hid_t) == sizeof(std::int64_t));

// An HDF5 identifier, closed at the end of its life.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0 && crashes == crashes_before_) close_(id_);
  }
  Handle(const Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
  int crashes_before_ = crashes;
};

// What HDF5 says of its last failure: the innermost message.
inline std::string reason() {
  std::string text;
  auto first = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    auto& text = *static_cast<std::string*>(to);
    if (text.empty() && error->desc) text = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first, &text);
  constexpr std::string_view mark = "error message = '";  // the system's, amid descriptors and addresses
  if (auto at = text.find(mark); at != text.npos) {
    text.erase(0, at + mark.size());
    text.resize(std::min(text.find('\''), text.size()));
  }
  return text.empty() ? "HDF5 does not say why" : text;
}

template <class... Args>
void check(bool good, fmt::format_string<Args...> format, Args&&... args) {
  if (!good) fail("{} ({})", fmt::format(format, std::forward<Args>(args)...), reason());
}

inline hid_t text_type(std::size_t bytes) {
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, std::max<std::size_t>(bytes, 1));
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

inline std::string unpadded(const char* text, std::size_t bytes) {
  return {text, std::find(text, text + bytes, '\0')};
}

inline Int product(const std::string& where, const std::vector<Int>& factors) {
  Int all = 1;
  for (Int f : factors) require(!__builtin_mul_overflow(all, f, &all), "{}: an impossible shape", where);
  return all;
}

inline std::vector<Int> shape_of(const std::string& where, hid_t space) {
  check(H5Sget_simple_extent_type(space) != H5S_NO_CLASS, "{}: damaged", where);
  int rank = H5Sget_simple_extent_ndims(space);
  check(rank >= 0, "{}: the shape cannot be read", where);
  std::vector<hsize_t> dims(rank);
  check(H5Sget_simple_extent_dims(space, dims.data(), nullptr) == rank, "{}: the shape cannot be read", where);
  std::vector<Int> shape;
  for (hsize_t size : dims) {
    require(size < (hsize_t{1} << 53), "{}: an impossible shape", where);
    shape.push_back(static_cast<Int>(size));
  }
  return shape;
}

inline char kind_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return 'f';
    case H5T_INTEGER:
      return H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i';
    case H5T_STRING:
      return H5Tis_variable_str(type) == 0 ? 's' : '?';
    default:
      return '?';
  }
}

}  // namespace kbcd::h5
