// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace plait::files {

/// An open file of the operating system. Every call throws `plait::Error` with `io` and the file's name when it fails.
class SystemFile {
 public:
  enum class Mode : std::uint8_t {
    read,
    write,   ///< An existing file, also to be read.
    create,  ///< As `write`; a file that exists becomes empty.
  };
  SystemFile(std::filesystem::path path, Mode mode);
  SystemFile(const SystemFile&) = delete;
  SystemFile& operator=(const SystemFile&) = delete;
  ~SystemFile();

  void write(std::uint64_t offset, std::span<const std::byte> data);
  /// Throws with `bad_input` when the file is too short.
  void read(std::uint64_t offset, std::span<std::byte> data) const;
  /// Allocates the disk space of `bytes` now, if the file system can. The file's size stays.
  void reserve(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t size() const;
  /// Waits until all data is on the disk.
  void sync();

 private:
  [[noreturn]] void fail(const char* what, int error) const;

  std::filesystem::path path_;
  int file_ = -1;
};

/// Throws `plait::Error` with `io` when a file of `bytes` exceeds the limit of this process, beyond which a signal
/// would end the program.
void throw_if_too_large(const std::filesystem::path& path, std::uint64_t bytes);

/// Waits until the entries of a folder are on the disk.
void sync_folder(const std::filesystem::path& folder);

}  // namespace plait::files
