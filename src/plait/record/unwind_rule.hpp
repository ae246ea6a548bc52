// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace plait::record {

/// How to find the caller of a function from one of its instructions.
struct UnwindRule {
  enum class Base : std::uint8_t {
    none,               ///< There is no caller, or it cannot be found.
    stack,              ///< The caller's frame is at the stack pointer plus an offset,
    frame,              ///< at the frame pointer plus an offset,
    stored_near_frame,  ///< or its address is stored there.
    frame_pointers,     ///< Unknown code: trust the frame pointer.
  };

  std::uintptr_t instruction = 0;
  std::uintptr_t function_start = 0;  ///< 0 if unknown.
  std::int32_t offset = 0;
  std::int32_t frame_saved_at =
      0;  ///< Where the caller's frame pointer is stored, from the caller's frame; 0: unchanged.
  bool is_frame_saved_at_frame = false;  ///< It is stored where the frame pointer points to, instead.
  Base base = Base::none;
};

/// Reads the rule for an instruction from the call frame information (.eh_frame, of the DWARF standard and the System V
/// ABI) of its module. Takes the loader's lock, and about a microsecond. Threads: any.
[[nodiscard]] UnwindRule find_unwind_rule(std::uintptr_t instruction);

}  // namespace plait::record
