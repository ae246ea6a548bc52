// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plait {

/// Cores that this process may use: all of the machine unless it is bound.
[[nodiscard]] std::uint32_t usable_core_count();

/// The numbers of those cores, as in the system; not empty.
[[nodiscard]] std::vector<int> usable_cores();

/// Binds the calling thread to one core, or to several; does nothing if the system refuses.
void bind_to_core(int core) noexcept;
void bind_to_cores(std::span<const int> cores) noexcept;

/// Cores of the machine.
[[nodiscard]] std::uint32_t machine_core_count();

/// The name of this machine; "unknown" if the system does not provide it.
[[nodiscard]] std::string host_name();

/// The number of the node of each rank whose name is in `names`, counted from 0 in the order of first ranks.
[[nodiscard]] std::vector<std::uint32_t> number_nodes(std::span<const std::string> names);

/// Whether `ranks_here` ranks on this machine with `threads` threads each have fewer cores than threads. Assumes that a
/// bound process has its cores exclusively.
[[nodiscard]] bool is_oversubscribed(std::uint32_t ranks_here, std::uint32_t threads);

}  // namespace plait
