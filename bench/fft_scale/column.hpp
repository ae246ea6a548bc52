// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/base/clock.hpp"
#include "plait/net/sim/sim.hpp"

namespace fft_scale {

/// What a rank does while its column exchanges blocks, by the names of the all-to-all harness.
enum class Order : std::uint8_t {
  nothing,      ///< No work: what the exchange takes.
  after,        ///< PLB: waits, then works.
  unobserved,   ///< DIN: works, then waits; nobody looks at the network during the work.
  before,       ///< PLN: works, then waits; a timer looks at the network during the work.
  as_it_comes,  ///< PLT: works on each block when it has come, the own one first.
};

/// How the ranks are brought to act.
enum class Method : std::uint8_t {
  every_rank,  ///< Each has its engine, on the simulated network.
  symmetry,    ///< One has, and meets its own messages again: see `MirrorDriver`.
};

/// The machine as one rank of a column sees it. The ranks of a node share its network, which is in `cost`.
struct Machine {
  plait::net::LogGP cost;
  plait::nanoseconds processor{};  ///< Of a rank's core, for each message that it sends and for each that it gets.
  plait::nanoseconds looks_every = std::chrono::microseconds{100};  ///< Of the timer, while the program works.
  plait::nanoseconds look{};                                        ///< What one such look takes from the work.
};

/// A column's all-to-all beside work.
struct Exchange {
  std::uint32_t ranks = 0;
  std::size_t block_bytes = 4096;  ///< At most what travels with its announcement.
  plait::nanoseconds work{};       ///< Of each rank, the same for each block.
  Order order = Order::nothing;
};

/// Time until the slowest rank has all blocks and has done all its work, on a virtual clock: the engine's own protocol
/// runs, work is time that passes. The same each time. Contents of blocks are neither kept nor checked: all of a rank
/// share memory of one block, so that large columns fit.
[[nodiscard]] plait::nanoseconds time_of(const Exchange& exchange, const Machine& machine, Method method);

}  // namespace fft_scale
