// SPDX-License-Identifier: Apache-2.0
// What ranks write to files, where a disk becomes full. The standard library of C writes by itself, past these: files
// of stdio are not on that disk.
#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>

#include "plait/simulate/preload/real.hpp"
#include "plait/simulate/preload/simulation.hpp"

namespace plait::simulate {
namespace {

/// The disk of the file, if it is a rank's that writes and the disk becomes full; else null.
FillingDisk* filling_disk_of(int file) {
  Simulation* const simulation = simulation_of_caller();
  FillingDisk* const disk = simulation != nullptr ? simulation->filling_disk() : nullptr;
  if (disk == nullptr || !disk->is_filling(simulation->network().clock().now())) {
    return nullptr;
  }
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", file).c_str(), path.data(), path.size());
  return length > 0 && disk->has(std::string_view{path.data(), static_cast<std::size_t>(length)}) ? disk : nullptr;
}

std::size_t size_of(int file) noexcept {
  struct stat status{};
  return ::fstat(file, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

/// Where the next `write` goes.
std::size_t position_of(int file) noexcept {
  if ((::fcntl(file, F_GETFL) & O_APPEND) != 0) {
    return size_of(file);
  }
  return static_cast<std::size_t>(std::max(::lseek(file, 0, SEEK_CUR), off_t{0}));
}

/// Calls `write` with as many of `bytes` as fit at `offset`, and counts what it wrote.
template <class Write>
ssize_t write_what_fits(FillingDisk& disk, int file, std::size_t offset, std::size_t bytes, const Write& write) {
  const std::size_t size = size_of(file);
  const std::size_t room = disk.room(size, offset, bytes);
  if (room == 0 && bytes > 0) {
    errno = ENOSPC;
    return -1;
  }
  const ssize_t written = write(room);
  if (written > 0) {
    disk.take(size, offset, static_cast<std::size_t>(written));
  }
  return written;
}

/// Reserves the bytes by `reserve`, which returns whether it did, if they fit; false and ENOSPC otherwise.
template <class Reserve>
bool reserve_what_fits(int file, off_t offset, off_t bytes, const Reserve& reserve) {
  FillingDisk* const disk = filling_disk_of(file);
  if (disk == nullptr) {
    return reserve();
  }
  const std::size_t size = size_of(file);
  const auto first = static_cast<std::size_t>(std::max(offset, off_t{0}));
  const auto wanted = static_cast<std::size_t>(std::max(bytes, off_t{0}));
  if (disk->room(size, first, wanted) < wanted) {
    errno = ENOSPC;
    return false;
  }
  const bool is_reserved = reserve();
  if (is_reserved) {
    disk->take(size, first, wanted);
  }
  return is_reserved;
}

}  // namespace
}  // namespace plait::simulate

// NOLINTBEGIN(readability-identifier-naming): names of the system
extern "C" {

[[gnu::visibility("default")]] ssize_t write(int file, const void* data, size_t bytes) {
  static const auto real = plait::simulate::real_function<ssize_t(int, const void*, size_t)>("write");
  plait::simulate::FillingDisk* const disk = plait::simulate::filling_disk_of(file);
  if (disk == nullptr) {
    return real(file, data, bytes);
  }
  return plait::simulate::write_what_fits(
      *disk, file, plait::simulate::position_of(file), bytes, [&](std::size_t room) { return real(file, data, room); });
}

[[gnu::visibility("default")]] ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  static const auto real = plait::simulate::real_function<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  plait::simulate::FillingDisk* const disk = plait::simulate::filling_disk_of(file);
  if (disk == nullptr || offset < 0) {
    return real(file, data, bytes, offset);
  }
  return plait::simulate::write_what_fits(*disk, file, static_cast<std::size_t>(offset), bytes, [&](std::size_t room) {
    return real(file, data, room, offset);
  });
}

[[gnu::visibility("default")]] ssize_t pwrite64(int file, const void* data, size_t bytes, off_t offset) {
  return pwrite(file, data, bytes, offset);
}

[[gnu::visibility("default")]] ssize_t writev(int file, const struct iovec* parts, int count) {
  static const auto real = plait::simulate::real_function<ssize_t(int, const iovec*, int)>("writev");
  if (count < 1 || plait::simulate::filling_disk_of(file) == nullptr) {
    return real(file, parts, count);
  }
  const auto* const first = std::find_if(parts, parts + count, [](const iovec& part) { return part.iov_len > 0; });
  return first != parts + count ? write(file, first->iov_base, first->iov_len) : 0;  // a part of what is wanted
}

[[gnu::visibility("default")]] int fallocate(int file, int mode, off_t offset, off_t bytes) {
  static const auto real = plait::simulate::real_function<int(int, int, off_t, off_t)>("fallocate");
  const auto reserve = [&] { return real(file, mode, offset, bytes) == 0; };
  return plait::simulate::reserve_what_fits(file, offset, bytes, reserve) ? 0 : -1;
}

[[gnu::visibility("default")]] int posix_fallocate(int file, off_t offset, off_t bytes) {
  static const auto real = plait::simulate::real_function<int(int, off_t, off_t)>("posix_fallocate");
  int error = ENOSPC;
  const auto reserve = [&] { return (error = real(file, offset, bytes)) == 0; };
  return plait::simulate::reserve_what_fits(file, offset, bytes, reserve) ? 0 : error;
}

[[gnu::visibility("default")]] int ftruncate(int file, off_t bytes) noexcept {
  static const auto real = plait::simulate::real_function<int(int, off_t) noexcept>("ftruncate");
  plait::simulate::FillingDisk* const disk = plait::simulate::filling_disk_of(file);
  const std::size_t before = disk != nullptr ? plait::simulate::size_of(file) : 0;
  const int status = real(file, bytes);
  if (const auto after = static_cast<std::size_t>(bytes); disk != nullptr && status == 0 && after < before) {
    disk->give_back(before - after);
  }
  return status;
}

[[gnu::visibility("default")]] int truncate(const char* path, off_t bytes) noexcept {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) {
    return -1;
  }
  const int status = ftruncate(file, bytes);
  const int error = errno;
  ::close(file);
  errno = error;
  return status;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
