#include "modules/data/h5.hpp"

#include <filesystem>
#include <fstream>
#include <utility>

#include "core/access.hpp"
#include "modules/data/byte_reader.hpp"
#include "modules/data/h5_handle.hpp"

namespace kbcd {
namespace {

using namespace h5;

// HDF5 prints nothing itself, does no work at the end of the program (files are closed by then), and loads no plugins.
void prepare() {
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

hid_t file_access() {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access, false, true);  // ranks read together, also where the file system has no locks
#endif
  return access;
}

// The version of the superblock, behind the 8 bytes that HDF5 begins with, is 2 or more.
bool has_checksums(const std::string& path) {
  char start[9] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return start[8] >= 2;
}

}  // namespace

H5File H5File::create(const std::string& path) {
  access::writing(path);
  prepare();
  Handle properties(file_access(), H5Pclose);
  hid_t id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, properties);
  check(id >= 0, "{}: cannot be written", path);
  return {path, id, 0};
}

H5File H5File::open(const std::string& path, bool own) {
  access::reading(path);
  require_file(path);
  prepare();
  std::error_code error;
  auto bytes = static_cast<Int>(std::filesystem::file_size(path, error));
  require(!error, "{}: cannot be read ({})", path, error.message());
  require(H5Fis_hdf5(path.c_str()) > 0, "{}: not an HDF5 file", path);
  require(!own || has_checksums(path), "{}: HDF5 of an old form, without checksums, which kbcd does not write", path);
  Handle properties(file_access(), H5Pclose);
  hid_t id = guarded(path, [&] { return H5Fopen(path.c_str(), H5F_ACC_RDONLY, properties); });
  check(id >= 0, "{}: the HDF5 file is damaged", path);
  return {path, id, bytes};
}

H5File::H5File(std::string path, std::int64_t id, Int bytes)
    : path_(std::move(path)), id_(id), bytes_(bytes), crashes_before_(crashes) {}

H5File::H5File(H5File&& other) noexcept
    : path_(other.path_),
      id_(std::exchange(other.id_, -1)),
      bytes_(other.bytes_),
      crashes_before_(other.crashes_before_) {}

H5File::~H5File() {
  if (id_ >= 0 && crashes == crashes_before_) H5Fclose(id_);
}

void H5File::close() {
  if (crashes != crashes_before_) id_ = -1;
  if (id_ < 0) return;
  bool flushed = H5Fflush(id_, H5F_SCOPE_LOCAL) >= 0;
  std::string why = flushed ? "" : reason();
  require(H5Fclose(std::exchange(id_, -1)) >= 0 && flushed, "{}: cannot be written to its end ({})", path_, why);
}

std::int64_t H5File::id() const {
  require(id_ >= 0, "{}: this file was closed", path_);
  return id_;
}

bool H5File::is_hard(const std::string& link) const {
  H5L_info_t info;
  herr_t found = guarded(path_, [&] { return H5Lget_info(id(), link.c_str(), &info, H5P_DEFAULT); });
  check(found >= 0, "{}: damaged", at(link));
  return info.type == H5L_TYPE_HARD;
}

// Every group on the path must exist. A link to another place, here or in another file, is never followed: the writer
// of a file must not choose what we open.
bool H5File::has(const std::string& object) const {
  for (std::size_t end = 1; end != object.npos && object != "/";) {
    end = object.find('/', end);
    std::string part = object.substr(0, end);
    if (guarded(path_, [&] { return H5Lexists(id(), part.c_str(), H5P_DEFAULT); }) <= 0) return false;
    require(is_hard(part), "{}: a link to another place or file, which is not followed; copy the object here",
            at(part));
    if (end != object.npos) ++end;
  }
  return guarded(path_, [&] { return H5Oexists_by_name(id(), object.c_str(), H5P_DEFAULT); }) > 0;
}

std::int64_t H5File::open_object(const std::string& object) const {
  if (!has(object)) fail("{}: there is no '{}'; it has: {}", path_, object, fmt::join(members("/"), ", "));
  hid_t opened = guarded(at(object), [&] { return H5Oopen(id(), object.c_str(), H5P_DEFAULT); });
  check(opened >= 0, "{}: damaged", at(object));
  return opened;
}

std::vector<std::string> H5File::members(const std::string& group) const {
  require(has(group), "{}: there is no such group", at(group));
  std::vector<std::string> names;
  auto add = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->push_back(name);
    return 0;
  };
  herr_t good = guarded(at(group), [&] {
    return H5Literate_by_name(id(), group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names, H5P_DEFAULT);
  });
  check(good >= 0, "{}: a group that can be read expected", at(group));
  return names;
}

// Not with H5Ovisit, which a damaged file can send into an endless loop.
std::vector<std::string> H5File::datasets() const {
  constexpr std::ptrdiff_t deepest = 16;
  constexpr std::size_t most = 1000;
  std::vector<std::string> names, groups{""};
  for (std::size_t i = 0; i < groups.size() && groups.size() + names.size() < most; ++i)
    for (auto& member : members(groups[i].empty() ? "/" : groups[i])) {
      std::string path = fmt::format("{}/{}", groups[i], member);
      if (!is_hard(path)) continue;
      Handle found(guarded(at(path), [&] { return H5Oopen(id(), path.c_str(), H5P_DEFAULT); }), H5Oclose);
      H5I_type_t type = found >= 0 ? H5Iget_type(found) : H5I_BADID;
      if (type == H5I_DATASET) names.push_back(path);
      if (type == H5I_GROUP && std::count(path.begin(), path.end(), '/') < deepest) groups.push_back(path);
    }
  std::sort(names.begin(), names.end());
  return names;
}

void H5File::make_group(const std::string& group) {
  Handle made(H5Gcreate2(id(), group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  check(made >= 0, "{}: the group cannot be made", at(group));
}

void H5File::set_attribute(const std::string& object, const std::string& name, const H5Value& value) {
  Handle owner(open_object(object), H5Oclose);
  auto put = [&](hid_t type, hid_t space, const void* data) {
    Handle made(H5Acreate2(owner, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    check(made >= 0 && H5Awrite(made, type, data) >= 0, "{}: attribute {} cannot be written", at(object), name);
  };
  Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
  if (auto* number = std::get_if<double>(&value)) {
    put(H5T_NATIVE_DOUBLE, scalar, number);
  } else if (auto* text = std::get_if<std::string>(&value)) {
    put(Handle(text_type(text->size()), H5Tclose), scalar, text->c_str());
  } else {
    auto& list = std::get<std::vector<double>>(value);
    hsize_t count = list.size();
    put(H5T_NATIVE_DOUBLE, Handle(H5Screate_simple(1, &count, nullptr), H5Sclose), list.data());
  }
}

H5Value H5File::attribute(const std::string& object, const std::string& name) const {
  Handle owner(open_object(object), H5Oclose);
  std::string where = at(object) + ": attribute " + name;
  require(guarded(where, [&] { return H5Aexists(owner, name.c_str()); }) > 0, "{} is missing", where);
  Handle found(guarded(where, [&] { return H5Aopen(owner, name.c_str(), H5P_DEFAULT); }), H5Aclose);
  check(found >= 0, "{}: damaged", where);
  Handle type(H5Aget_type(found), H5Tclose), space(H5Aget_space(found), H5Sclose);
  check(type >= 0 && space >= 0, "{}: damaged", where);
  auto read = [&](hid_t as, void* to) {
    check(guarded(where, [&] { return H5Aread(found, as, to); }) >= 0, "{}: cannot be read", where);
  };
  auto shape = shape_of(where, space);
  Int count = product(where, shape), bytes = static_cast<Int>(H5Tget_size(type));
  require(count >= 0 && bytes >= 1 && product(where, {count, bytes}) <= bytes_, "{}: larger than the file", where);
  char kind = kind_of(type);
  if (kind == 's' && shape.empty()) {
    Handle as(text_type(bytes), H5Tclose);
    H5Tset_cset(as, H5Tget_cset(type));
    std::vector<char> text(bytes);
    read(as, text.data());
    return unpadded(text.data(), text.size());
  }
  require(kind == 'f' || kind == 'i' || kind == 'u', "{}: numbers or a text of fixed length expected", where);
  std::vector<double> numbers(std::max<Int>(count, 1));
  if (count > 0) read(H5T_NATIVE_DOUBLE, numbers.data());
  if (shape.empty()) return numbers[0];
  numbers.resize(count);
  return numbers;
}

std::vector<std::string> H5File::attributes(const std::string& object) const {
  Handle owner(open_object(object), H5Oclose);
  std::vector<std::string> names;
  auto add = [](hid_t, const char* name, const H5A_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->push_back(name);
    return 0;
  };
  auto call = [&] { return H5Aiterate2(owner, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names); };
  check(guarded(at(object), call) >= 0, "{}: damaged", at(object));
  return names;
}

}  // namespace kbcd
