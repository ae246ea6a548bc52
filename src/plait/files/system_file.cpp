// SPDX-License-Identifier: Apache-2.0
#include "plait/files/system_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::files {
namespace {

/// Linux moves no more with one call.
constexpr std::size_t piece_bytes_max = std::size_t{1} << 30U;

int flags_of(SystemFile::Mode mode) noexcept {
  switch (mode) {
    case SystemFile::Mode::read:
      return O_RDONLY | O_CLOEXEC;
    case SystemFile::Mode::write:
      return O_RDWR | O_CLOEXEC;
    case SystemFile::Mode::create:
      return O_RDWR | O_CLOEXEC | O_CREAT | O_TRUNC;
  }
  return O_RDONLY;
}

}  // namespace

SystemFile::SystemFile(std::filesystem::path path, Mode mode)
    : path_{std::move(path)}, file_{::open(path_.c_str(), flags_of(mode), 0666)} {
  if (file_ < 0) {
    fail("cannot be opened", errno);
  }
}

SystemFile::~SystemFile() {
  ::close(file_);
}

void SystemFile::write(std::uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t written =
        ::pwrite(file_, data.data(), std::min(data.size(), piece_bytes_max), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      fail("cannot be written", written < 0 ? errno : ENOSPC);
    }
    offset += static_cast<std::uint64_t>(written);
    data = data.subspan(static_cast<std::size_t>(written));
  }
}

void SystemFile::read(std::uint64_t offset, std::span<std::byte> data) const {
  while (!data.empty()) {
    const ssize_t got = ::pread(file_, data.data(), std::min(data.size(), piece_bytes_max), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      fail("cannot be read", errno);
    }
    if (got == 0) {
      throw Error{ErrorCode::bad_input,
                  fmt::format("{}: is cut short: {} bytes are missing at its end; use an older checkpoint",
                              path_.string(),
                              data.size())};
    }
    offset += static_cast<std::uint64_t>(got);
    data = data.subspan(static_cast<std::size_t>(got));
  }
}

void SystemFile::reserve(std::uint64_t bytes) {
  throw_if_too_large(path_, bytes);  // which the system does not see, as the file's size stays
  if (::fallocate(file_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 && errno != EOPNOTSUPP &&
      errno != ENOSYS) {
    fail("has no room on its disk", errno);
  }
}

std::uint64_t SystemFile::size() const {
  struct stat status{};
  if (::fstat(file_, &status) != 0) {
    fail("cannot be examined", errno);
  }
  return static_cast<std::uint64_t>(status.st_size);
}

void SystemFile::sync() {
  if (::fsync(file_) != 0) {
    fail("cannot be brought to the disk", errno);
  }
}

void SystemFile::fail(const char* what, int error) const {
  throw Error{ErrorCode::io, fmt::format("{}: {}: {}", path_.string(), what, std::generic_category().message(error))};
}

void throw_if_too_large(const std::filesystem::path& path, std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot be written: it would have {} bytes, and this process may write files of {} "
                            "only (ulimit -f)",
                            path.string(),
                            bytes,
                            limit.rlim_cur)};
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool is_good = file >= 0 && (::fsync(file) == 0 || errno == EINVAL);  // some file systems have nothing to do
  const int error = errno;
  if (file >= 0) {
    ::close(file);
  }
  if (!is_good) {
    throw Error{
        ErrorCode::io,
        fmt::format("{}: cannot be brought to the disk: {}", folder.string(), std::generic_category().message(error))};
  }
}

}  // namespace plait::files
