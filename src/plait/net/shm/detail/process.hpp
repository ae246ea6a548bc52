// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace plait::net::detail::shm {

/// A process of this host. Numbers are reused; the start time makes it unique.
struct ProcessId {
  std::int32_t number = 0;
  std::uint64_t started = 0;  ///< In ticks since the machine has started, as in /proc.

  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

[[nodiscard]] ProcessId this_process();

/// Whether `process` has ended; false when /proc is not readable. Cost: about 10 us.
[[nodiscard]] bool is_gone(const ProcessId& process);

/// Permits other processes of this user to access this one where the system permits parents only.
void let_others_attach() noexcept;

/// Copies between this process and `process` with one copy in the kernel. Returns 0 or the system's error number.
[[nodiscard]] int read_from(const ProcessId& process, std::uint64_t from, std::span<std::byte> to) noexcept;
[[nodiscard]] int write_to(const ProcessId& process, std::uint64_t to, std::span<const std::byte> from) noexcept;

/// The system's message for an error number.
[[nodiscard]] std::string system_words(int code);

}  // namespace plait::net::detail::shm
