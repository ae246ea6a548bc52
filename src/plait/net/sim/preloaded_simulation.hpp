// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/net/driver.hpp"

namespace plait::net {

/// The simulation that `plait simulate` preloads into a program: its ranks are fibers of this process, on a virtual
/// clock.
///
/// Program and simulation share classes of this library, so both must be built from the same sources: `version_here`
/// changes with `Driver` and `Executor`. Threads: the one that carries the ranks.
struct PreloadedSimulation {
  static constexpr std::uint32_t version_here = 1;
  static constexpr const char* symbol = "plait_preloaded_simulation";

  /// Sizes of what is shared.
  static constexpr std::uint64_t layout_here =
      sizeof(Driver) + (std::uint64_t{sizeof(DriverTraits)} << 16U) + (std::uint64_t{sizeof(Packet)} << 32U);

  std::uint32_t version;
  std::uint64_t layout;
  /// Creates the driver of the rank that calls, once; the caller owns it. Throws: `Error` with `bad_argument` at a
  /// second call.
  Driver* (*driver)();
};

/// Returns the simulation that was preloaded into this process; null if there is none. Cost: a load after the first
/// call. Throws: `Error` with `bad_argument` if it was built from other sources than this library.
[[nodiscard]] const PreloadedSimulation* preloaded_simulation();

}  // namespace plait::net
