// HDF5 files as bytes, in the newer format with checksums and in the oldest, which has none: there changed bytes get
// further than to a checksum.
#pragma once

#include <hdf5.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz.hpp"

namespace kbcd::fuzz {

class H5Seed {
 public:
  enum Form { with_checksums, oldest };

  explicit H5Seed(Form form) : path_(fmt::format("/dev/shm/kbcd_seed_{}", getpid())) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (form == with_checksums) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    file_ = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
  }
  ~H5Seed() { std::filesystem::remove(path_); }
  H5Seed(const H5Seed&) = delete;

  void group(const char* name) { H5Gclose(H5Gcreate2(file_, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); }

  // 0, 1, 2, … stored as `type`, in chunks with a checksum unless `deflated`, or contiguous.
  enum Layout { contiguous, checked, deflated };
  void table(const char* name, std::vector<hsize_t> shape, Layout layout, hid_t type = H5T_IEEE_F64LE) {
    hsize_t count = 1;
    for (auto size : shape) count *= size;
    auto values = tests::counting(static_cast<int>(count));
    hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (layout != contiguous) H5Pset_chunk(properties, static_cast<int>(shape.size()), shape.data());
    if (layout == checked) H5Pset_fletcher32(properties);
    if (layout == deflated) H5Pset_shuffle(properties), H5Pset_deflate(properties, 6);
    hid_t made = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Dwrite(made, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(made), H5Pclose(properties), H5Sclose(space);
  }

  void texts(const char* name, const char (&text)[4], hsize_t count) {
    hid_t type = text_type(3), space = H5Screate_simple(1, &count, nullptr);
    Bytes all;
    for (hsize_t i = 0; i < count; ++i) all += text;
    hid_t made = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data());
    H5Dclose(made), H5Sclose(space), H5Tclose(type);
  }

  void attribute(const char* object, const char* name, double value) { put(object, name, H5T_NATIVE_DOUBLE, &value); }
  void attribute(const char* object, const char* name, const Bytes& text) {
    hid_t type = text_type(text.size());
    put(object, name, type, text.data());
    H5Tclose(type);
  }

  Bytes bytes() {
    H5Fclose(file_);
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  static hid_t text_type(std::size_t size) {
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    return type;
  }
  void put(const char* object, const char* name, hid_t type, const void* value) {
    hid_t owner = H5Oopen(file_, object, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    hid_t made = H5Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(made, type, value);
    H5Aclose(made), H5Sclose(space), H5Oclose(owner);
  }

  std::string path_;
  hid_t file_;
};

}  // namespace kbcd::fuzz
