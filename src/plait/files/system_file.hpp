// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace plait::files {

/// A file of the operating system, until the end of scope. Every call throws `plait::Error` with `io`, which names the
/// file, when the system refuses.
class SystemFile {
 public:
  enum class Mode : std::uint8_t { read, write };
  SystemFile(std::filesystem::path path, Mode mode);
  SystemFile(const SystemFile&) = delete;
  SystemFile& operator=(const SystemFile&) = delete;
  ~SystemFile();

  void write(std::uint64_t offset, std::span<const std::byte> data);
  /// Throws with `bad_input` when the file ends before.
  void read(std::uint64_t offset, std::span<std::byte> data) const;
  /// Takes the room for a file of so many bytes now, as far as the file system can.
  void reserve(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t size() const;
  /// Returns when all that was written is on the disk.
  void sync();

 private:
  [[noreturn]] void fail(const char* what, int error) const;

  std::filesystem::path path_;
  int file_ = -1;
};

/// Throws `plait::Error` with `io` when this process may not write a file of so many bytes: who goes beyond that gets a
/// signal that ends the program.
void throw_if_too_large(const std::filesystem::path& path, std::uint64_t bytes);

/// Has the names of a folder's files on the disk.
void sync_folder(const std::filesystem::path& folder);

}  // namespace plait::files
