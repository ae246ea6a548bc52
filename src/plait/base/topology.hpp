// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plait {

/// Cores that this process may use: the machine's, less what it is kept from by binding.
[[nodiscard]] std::uint32_t usable_core_count();

/// The numbers of those cores, as the system counts them; not empty.
[[nodiscard]] std::vector<int> usable_cores();

/// Keeps the calling thread on one core; does nothing where the system refuses.
void bind_to_core(int core) noexcept;

/// Cores of the machine.
[[nodiscard]] std::uint32_t machine_core_count();

/// The name of this machine; "unknown" when the system does not tell.
[[nodiscard]] std::string host_name();

/// Whether `ranks_here` ranks on this machine with `threads` threads each have fewer cores than threads. A process that
/// is bound to a part of the machine is taken to have that part for itself.
[[nodiscard]] bool is_oversubscribed(std::uint32_t ranks_here, std::uint32_t threads);

}  // namespace plait
