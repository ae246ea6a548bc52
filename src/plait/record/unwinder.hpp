// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "plait/record/unwind_rule.hpp"

namespace plait::record {

/// Where a thread is: what a debugger needs to find the callers of its function.
struct Registers {
  std::uintptr_t instruction = 0;
  std::uintptr_t stack = 0;
  std::uintptr_t frame = 0;  ///< rbp on x86-64, x29 on AArch64.
};

/// Bytes of a thread's stack, from the address `begin` on: in place, or a copy. Borrowed.
struct StackBytes {
  std::uintptr_t begin = 0;
  std::span<const std::byte> bytes;

  /// Returns the word at an address of the stack; nothing outside of the bytes.
  [[nodiscard]] std::optional<std::uintptr_t> word(std::uintptr_t address) const noexcept;
};

/// Finds call paths from registers and a stack. Reads memory within the bytes of the stack only, so a damaged stack
/// ends a path and nothing else. About 10 ns a frame, once its rule is known. Threads: one at a time.
class Unwinder {
 public:
  /// Stores return addresses, the innermost first, in `callers`; returns how many there are.
  [[nodiscard]] std::size_t find_callers(Registers at, const StackBytes& stack, std::span<std::uintptr_t> callers);
  /// Returns where the function of an instruction starts; 0 if that is unknown.
  [[nodiscard]] std::uintptr_t function_start(std::uintptr_t instruction) { return rule(instruction).function_start; }

 private:
  [[nodiscard]] const UnwindRule& rule(std::uintptr_t instruction);

  std::array<UnwindRule, 1024> rules_{};  ///< The last rule used, by a hash of the instruction.
};

}  // namespace plait::record
