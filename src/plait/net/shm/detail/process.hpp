// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace plait::net::detail::shm {

/// A process of this machine. A number alone is used again after its process has ended; with the time of its start it
/// names one process.
struct ProcessId {
  std::int32_t number = 0;
  std::uint64_t started = 0;  ///< In ticks since the machine has started, as in /proc.

  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

[[nodiscard]] ProcessId this_process();

/// Whether `process` has ended; false when the system does not let us see. Cost: about 10 us, a file of /proc is read.
[[nodiscard]] bool is_gone(const ProcessId& process);

/// Lets other processes of this user read our memory where the system would else allow it to our parents only.
void let_others_attach() noexcept;

/// Copies between our memory and that of `process`, with one copy, by the kernel. Returns 0 or the system's error
/// number.
[[nodiscard]] int read_from(const ProcessId& process, std::uint64_t from, std::span<std::byte> to) noexcept;
[[nodiscard]] int write_to(const ProcessId& process, std::uint64_t to, std::span<const std::byte> from) noexcept;

/// The system's words for an error number.
[[nodiscard]] std::string system_words(int code);

}  // namespace plait::net::detail::shm
