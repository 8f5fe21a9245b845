// Bytes read forwards, from a file or from a part of one. Errors name the file and the place.
#pragma once

#include <string>

#include "core/error.hpp"
#include "core/parallel.hpp"

namespace kbcd {

class ByteReader {
 public:
  // `name` is what errors begin with: the path, and what is read of it.
  explicit ByteReader(std::string name) : name_(std::move(name)) {}
  virtual ~ByteReader() = default;
  ByteReader(const ByteReader&) = delete;

  const std::string& name() const { return name_; }
  Int position() const { return position_; }
  void read(void* to, Int bytes, const char* what);  // all of them, or an error that says what is missing
  Int read_some(void* to, Int bytes);                // fewer at the end
  virtual void skip_to(Int position);
  void require_more(Int bytes) const;  // before anything is allocated by what a header claims

 protected:
  virtual Int fetch(void* to, Int bytes) = 0;  // at least one byte; 0 at the end
  virtual Int most() const = 0;                // no more bytes than this can come, counted from the start
  Int position_ = 0;

 private:
  std::string name_;
};

// An Error if the path is a pipe (reading it would wait), a device or a folder.
void require_file(const std::string& path);

// A file, plain or gzipped.
class FileReader : public ByteReader {
 public:
  explicit FileReader(const std::string& path);
  ~FileReader() override;

  bool compressed() const { return compressed_; }
  Int file_bytes() const { return file_bytes_; }
  void skip_to(Int position) override;

 protected:
  Int fetch(void* to, Int bytes) override;
  Int most() const override;

 private:
  void* file_;
  bool compressed_ = false;
  Int file_bytes_ = 0;
};

constexpr Int best_deflate_ratio = 1032;  // deflate packs at most so many bytes into one

}  // namespace kbcd
