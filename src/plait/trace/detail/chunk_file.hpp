// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/trace/chunk_source.hpp"
#include "plait/trace/detail/layout.hpp"

namespace plait::trace::detail {

/// A rank's trace file. It grows by chunks that are mapped into memory, so that the records of a killed process are in
/// the file. Threads: any for `next_chunk`.
class ChunkFile final : public ChunkSource {
 public:
  /// Creates the file in an existing folder. Throws: `Error` with `io`, also when the file exists.
  ChunkFile(std::filesystem::path path, const Header& header)
      : path_{std::move(path)},
        chunk_bytes_{header.chunk_bytes},
        zeros_(std::min<std::size_t>(header.chunk_bytes, zeros_bytes_max)) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file_ < 0 && errno == EEXIST) {
      throw Error{ErrorCode::io,
                  fmt::format("{}: a trace is there already and is not overwritten; choose another "
                              "folder, or remove this one",
                              path_.string())};
    }
    if (file_ < 0) {
      throw Error{ErrorCode::io, fmt::format("{}: cannot create the trace: {}", path_.string(), describe(errno))};
    }
    std::array<std::byte, header_bytes> page{};
    std::memcpy(page.data(), &header, sizeof header);
    if (::pwrite(file_, page.data(), page.size(), 0) != static_cast<ssize_t>(page.size())) {
      const int error = errno;
      ::close(file_);
      ::unlink(path_.c_str());
      throw Error{ErrorCode::io, fmt::format("{}: cannot write the trace: {}", path_.string(), describe(error))};
    }
  }

  ~ChunkFile() override { ::close(file_); }

  /// Returns `chunk_bytes` of zeros at the file's end. When the disk is full it warns on stderr once, and returns
  /// nothing from then on.
  [[nodiscard]] std::span<std::byte> next_chunk() noexcept override {
    const std::lock_guard lock{mutex_};
    if (is_stopped_) {
      return {};
    }
    // Space is taken here, because a mapped page that finds the disk full kills the process.
    const auto offset = static_cast<off_t>(end_);
    if (const int error = ::posix_fallocate(file_, offset, static_cast<off_t>(chunk_bytes_)); error != 0) {
      stop("no space for more events", error);
      return {};
    }
    if (!write_zeros(offset)) {
      stop("no space for more events", errno);
      return {};
    }
    void* memory = ::mmap(nullptr, chunk_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, offset);
    if (memory == MAP_FAILED) {
      stop("cannot map the file into memory", errno);
      return {};
    }
    (void)::madvise(memory, chunk_bytes_, populate_for_writing);  // best effort: Linux before 5.14 cannot
    end_ += chunk_bytes_;
    return {static_cast<std::byte*>(memory), chunk_bytes_};
  }

  /// Unmaps a chunk, whose bytes stay in the file.
  static void release(std::span<std::byte> chunk) noexcept {
    if (!chunk.empty()) {
      ::munmap(chunk.data(), chunk.size());
    }
  }

 private:
  static constexpr std::size_t zeros_bytes_max = 64 << 10;
  static constexpr int populate_for_writing = 23;  ///< MADV_POPULATE_WRITE, which older C libraries do not name.

  /// Brings the pages of a new chunk into the page cache in large units. The first write to a page of an allocated but
  /// unwritten range costs a thread five times as much: 125 ns a record, measured on ext4.
  [[nodiscard]] bool write_zeros(off_t offset) const noexcept {
    const auto end = offset + static_cast<off_t>(chunk_bytes_);
    while (offset < end) {
      const auto bytes = std::min(zeros_.size(), static_cast<std::size_t>(end - offset));
      const ssize_t written = ::pwrite(file_, zeros_.data(), bytes, offset);
      if (written > 0) {
        offset += written;
      } else if (written == 0 || errno != EINTR) {
        return false;
      }
    }
    return true;
  }

  static std::string describe(int error) { return std::generic_category().message(error); }

  void stop(const char* what, int error) noexcept {
    is_stopped_ = true;
    std::fprintf(stderr,
                 "plait: %s: %s (%s); this rank records no more, what is there stays readable\n",
                 path_.c_str(),
                 what,
                 std::strerror(error));
  }

  std::filesystem::path path_;
  std::size_t chunk_bytes_;
  std::vector<std::byte> zeros_;
  std::mutex mutex_;
  int file_ = -1;
  std::size_t end_ = header_bytes;
  bool is_stopped_ = false;
};

}  // namespace plait::trace::detail
