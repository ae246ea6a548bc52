// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace plait::files {

/// A file that is written under another name and renamed when it is complete, so that an existing file stays intact
/// until then. The destructor removes an incomplete file. One process creates it.
class PartialFile {
 public:
  explicit PartialFile(std::filesystem::path file);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  /// The name under which `file` is written: `FILE.partial`.
  [[nodiscard]] static std::filesystem::path path_for(const std::filesystem::path& file);
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return partial_; }

  /// Renames the file; returns its size in bytes. Throws: `Error` with `io` that names the file.
  std::uint64_t complete();

 private:
  std::filesystem::path file_;
  std::filesystem::path partial_;
  bool is_complete_ = false;
};

}  // namespace plait::files
