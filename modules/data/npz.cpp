// NumPy's .npz: a zip archive whose members are .npy files; and the sparse matrices that SciPy writes so.
#include <algorithm>

#include "modules/data/npz_sparse.hpp"
#include "modules/data/raw_array.hpp"
#include "modules/data/zip_archive.hpp"

namespace kbcd {
namespace {

const ZipMember& chosen(const std::vector<ZipMember>& members, const Params& options, const std::string& path) {
  auto wanted = options.get<std::string>("member");
  std::string names;
  for (auto& member : members) names += (names.empty() ? "" : ", ") + member.name;
  require(!members.empty(), "{}: the archive has no members", path);
  require(wanted || members.size() == 1,
          "{}: say which array with member = …, or {}:NAME in a command; the file has: {}", path, path, names);
  for (auto& member : members)
    if (!wanted || member.name == *wanted) return member;
  fail("{}: there is no member '{}'; the file has: {}", path, *wanted, names);
}

ArrayRows read_npz(const std::string& path, const Params& options) {
  FileReader file(path);
  require(!file.compressed(), "{}: an .npz file is packed already; gunzip it first", path);
  auto members = read_members(file);
  if (!options.has("member") && is_sparse_matrix(members)) return {read_sparse_matrix(path, members, options)};
  MemberReader in(file, chosen(members, options, path));
  ArrayRows rows = read_npy(in, options);
  char more;  // the last rank has read to the end of the array, which must be the member's
  require(options.has("rows") || comm::rank() + 1 < comm::size() || in.read_some(&more, 1) == 0,
          "{}: {} bytes are too many for the array in it", in.name(), in.size());
  return rows;
}

Loaded load_npz(const std::string& path, const Params& options) {
  return load_array([&] { return read_npz(path, options); });
}

const RegisteredLoader npz({
    .name = "npz",
    .gives = "X, one of its arrays, with names also classes; or the sparse matrix of scipy.sparse.save_npz",
    .options = {scale_option(),
                bytes_option(),
                names_option(),
                {.name = "member",
                 .help = "which array; by default the only one, or the matrix that SciPy wrote",
                 .kind = Kind::text}},
    .part = "member",
    .matches = begins_with("PK"),
    .load = load_npz,
});

}  // namespace
}  // namespace kbcd
