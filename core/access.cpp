#include "core/access.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/confine.hpp"
#include "core/error.hpp"

namespace kbcd::access {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;  // resolved
  bool write;
};

std::vector<Folder> folders;
bool is_restricted = false;

// A name in a folder that exists, without following the name if it is a link; or nothing.
fs::path resolved_name(const std::string& path) {
  std::error_code error;
  if (path.empty() || path.find('\0') != path.npos) return {};
  fs::path whole = fs::absolute(path, error), name = whole.filename();
  if (error || name.empty() || name == "." || name == "..") return {};
  fs::path folder = fs::canonical(whole.parent_path(), error);
  return error ? fs::path() : folder / name;
}

// The file that a path leads to, or nothing. The file may be missing if its folder exists; a dangling link is refused.
fs::path resolved(const std::string& path) {
  std::error_code error;
  if (path.empty() || path.find('\0') != path.npos) return {};
  fs::path whole = fs::absolute(path, error);
  if (error) return {};
  if (fs::exists(fs::symlink_status(whole, error))) {
    fs::path found = fs::canonical(whole, error);
    return error ? fs::path() : found;
  }
  return resolved_name(path);
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  auto [end, other] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

void check(const std::string& path, const fs::path& place, bool write) {
  if (!is_restricted) return;
  for (auto& folder : folders)
    if (!place.empty() && lies_in(place, folder.path) && (folder.write || !write)) return;
  std::string readable, writable;
  for (auto& folder : folders) {
    auto& list = folder.write ? writable : readable;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", folder.path.string());
  }
  fail("{}: the sandbox does not let it be {}; it may read in {} and write in {} (--allow FOLDER or --allow FOLDER:rw)",
       path.substr(0, path.find('\0')), write ? "written" : "read", readable.empty() ? "no folder" : readable,
       writable.empty() ? "no folder" : writable);
}

}  // namespace

void allow(const std::string& folder, bool write) {
  std::error_code error;
  fs::path place = fs::canonical(folder, error);
  require(!error && fs::is_directory(place, error), "--allow {}: a folder that is there expected", folder);
  folders.push_back({place, write});
}

std::vector<std::string> writable_folders() {
  std::vector<std::string> list;
  for (auto& folder : folders) {
    bool inside = std::any_of(folders.begin(), folders.end(), [&](const Folder& other) {
      return &other != &folder && other.write && lies_in(folder.path, other.path) &&
             (other.path != folder.path || &other < &folder);
    });
    if (folder.write && !inside) list.push_back(folder.path);
  }
  return list;
}

void restrict(const std::string& cleaned) {
  if (is_restricted) return;
  is_restricted = true;
  std::vector<confine::Place> places;
  for (auto& folder : folders) places.push_back({folder.path, folder.write ? confine::Use::write : confine::Use::read});
  if (!cleaned.empty()) places.push_back({cleaned, confine::Use::remove});
  confine::enter(places);
}

void reading(const std::string& path) {
  check(path, resolved(path), false);
}

void writing(const std::string& path) {
  check(path, resolved(path), true);
}

void replacing(const std::string& path) {
  check(path, resolved_name(path), true);
}

}  // namespace kbcd::access
