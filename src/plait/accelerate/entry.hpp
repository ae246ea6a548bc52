// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

namespace plait::accelerate {

/// A function of MPI as programs call it. Constant-initialised. Threads: any.
struct Entry {
  const char* name;                     ///< Of the MPI library's own function, "PMPI_Send".
  std::atomic<void*> real = nullptr;    ///< That function, once it is found.
  std::atomic<void*> routed = nullptr;  ///< What programs get instead, if anything.
};

/// What the preload library offers to the engine's library. The two are built together.
struct Preload {
  std::span<Entry> entries;
  /// Whether the calling thread is inside a function of MPI already: its calls then go to the MPI library. Threads of
  /// the engine set it for good.
  bool* (*is_inside)();
  const std::atomic<int>* calls_of_library;  ///< How many have not returned.
};

/// The only function of the engine's library: has the program's calls routed from MPI_Init on.
using StartEngine = void(const Preload& preload);
inline constexpr const char* start_engine_name = "plait_accelerate_start";

}  // namespace plait::accelerate
