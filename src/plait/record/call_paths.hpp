// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/record/sites.hpp"
#include "plait/record/unwinder.hpp"

namespace plait::record {

/// The largest number of functions in the path of a call.
inline constexpr std::size_t call_path_max = 32;

/// Returns the number of functions that the path of a call has, the calling one included, from PLAIT_RECORD_CALL_PATH;
/// 1 if it is not set or no number of 1 to 32.
[[nodiscard]] std::size_t call_path_wanted() noexcept;

/// The callers of the functions that call MPI, of one thread. Threads: its own.
class CallPaths {
 public:
  /// Finds the bounds of the calling thread's stack; costs some microseconds.
  explicit CallPaths(std::size_t depth);

  /// Returns the name of the path from a place that returns to `returns_to`. `frame`: of the MPI function, where the
  /// frame pointer of its caller is stored; null if that is not known. Returns nothing if the path cannot be found.
  /// Costs about 10 ns for each function.
  [[nodiscard]] trace::NameId find(Sites& sites, const std::uintptr_t* frame, const void* returns_to);

 private:
  struct Known {
    std::uint64_t hash = 0;
    trace::NameId name;
  };

  std::size_t depth_;
  std::uintptr_t stack_end_ = 0;
  Unwinder unwinder_;
  std::array<Known, 256> known_{};
};

}  // namespace plait::record
