// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

#include "plait/base/clock.hpp"
#include "plait/simulate/faults.hpp"

namespace plait::simulate {

/// The disk of a folder that becomes full: from a time on, its files grow by so many bytes more and then no further.
///
/// Threads: one at a time.
class FillingDisk {
 public:
  explicit FillingDisk(const FullDisk& fault);

  /// Whether the disk has become full in part: before, all that is written fits.
  [[nodiscard]] bool is_filling(nanoseconds now) const noexcept { return now >= since_; }
  /// Whether a file is on this disk. `path` is absolute and without links, as in /proc/self/fd.
  [[nodiscard]] bool has(const std::filesystem::path& path) const;
  /// How many of `bytes` fit, written at `offset` of a file of `size` bytes: what is not behind its end always does.
  [[nodiscard]] std::size_t room(std::size_t size, std::size_t offset, std::size_t bytes) const noexcept;
  /// Counts bytes that were written so. Expects: they fit.
  void take(std::size_t size, std::size_t offset, std::size_t bytes) noexcept;
  /// Counts bytes by which a file has become shorter.
  void give_back(std::size_t bytes) noexcept { bytes_left_ += bytes; }

 private:
  const std::filesystem::path folder_;
  const nanoseconds since_;
  std::size_t bytes_left_;
};

}  // namespace plait::simulate
