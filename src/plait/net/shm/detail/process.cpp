// SPDX-License-Identifier: Apache-2.0
#include "plait/net/shm/detail/process.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sstream>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace plait::net::detail::shm {
namespace {

/// The first bytes of a file; nothing when it cannot be opened, with the reason in `errno`.
std::optional<std::string> head_of(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return {};
  }
  std::array<char, 1024> text{};
  const ssize_t length = ::read(file, text.data(), text.size());
  const int code = errno;
  ::close(file);
  errno = code;
  if (length < 0) {
    return {};
  }
  return std::string{text.data(), static_cast<std::size_t>(length)};
}

struct Stat {
  char state = '?';
  std::uint64_t started = 0;
};

/// From /proc/PID/stat: "number (name) state ..." with the start as field 22. The name may hold anything, so the fields
/// count from its closing parenthesis.
std::optional<Stat> stat_of(std::int32_t number) {
  constexpr int fields_between = 18;
  const std::string text = head_of(fmt::format("/proc/{}/stat", number).c_str()).value_or("");
  const std::size_t close = text.rfind(')');
  std::istringstream fields{close == std::string::npos ? "" : text.substr(close + 1)};
  Stat stat;
  std::string skipped;
  fields >> stat.state;
  for (int field = 0; field < fields_between; ++field) {
    fields >> skipped;
  }
  return fields >> stat.started ? std::optional{stat} : std::nullopt;
}

/// Runs `move` until all is moved: the kernel may move less than it was asked to.
template <class Move>
int move_all(std::uint64_t theirs, std::span<const std::byte> ours, Move move) noexcept {
  std::size_t moved = 0;
  while (moved < ours.size()) {
    const iovec here{const_cast<std::byte*>(ours.data()) + moved, ours.size() - moved};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): sent as a number
    const iovec there{reinterpret_cast<void*>(theirs + moved), ours.size() - moved};
    const ssize_t now = move(here, there);
    if (now < 0 && errno != EINTR) {
      return errno;
    }
    if (now == 0) {
      return EFAULT;
    }
    moved += now > 0 ? static_cast<std::size_t>(now) : 0;
  }
  return 0;
}

}  // namespace

ProcessId this_process() {
  const ProcessId self{.number = ::getpid()};
  const auto stat = stat_of(self.number);
  return {self.number, stat ? stat->started : 0};
}

bool is_gone(const ProcessId& process) {
  const auto stat = stat_of(process.number);
  if (!stat) {
    return errno == ENOENT || errno == ESRCH;
  }
  return stat->started != process.started || stat->state == 'Z' || stat->state == 'X';
}

void let_others_attach() noexcept {
  const auto scope = head_of("/proc/sys/kernel/yama/ptrace_scope");
  if (scope && scope->starts_with('1')) {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  }
}

int read_from(const ProcessId& process, std::uint64_t from, std::span<std::byte> to) noexcept {
  return move_all(from, to, [&](const iovec& here, const iovec& there) {
    return ::process_vm_readv(process.number, &here, 1, &there, 1, 0);
  });
}

int write_to(const ProcessId& process, std::uint64_t to, std::span<const std::byte> from) noexcept {
  return move_all(to, from, [&](const iovec& here, const iovec& there) {
    return ::process_vm_writev(process.number, &here, 1, &there, 1, 0);
  });
}

std::string system_words(int code) {
  return std::generic_category().message(code);
}

}  // namespace plait::net::detail::shm
