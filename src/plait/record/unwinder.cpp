// SPDX-License-Identifier: Apache-2.0
#include "plait/record/unwinder.hpp"

#include <cstring>

namespace plait::record {
namespace {

constexpr std::uintptr_t word_bytes = sizeof(std::uintptr_t);

/// The address of the caller's frame: where the stack pointer is once the function has returned.
std::optional<std::uintptr_t> frame_of_caller(const UnwindRule& rule, const Registers& at, const StackBytes& stack) {
  using Base = UnwindRule::Base;
  const auto offset = static_cast<std::uintptr_t>(std::int64_t{rule.offset});
  switch (rule.base) {
    case Base::stack:
      return at.stack + offset;
    case Base::frame:
      return at.frame + offset;
    case Base::stored_near_frame:
      return stack.word(at.frame + offset);
    case Base::frame_pointers:
      return at.frame + 2 * word_bytes;
    case Base::none:
      break;
  }
  return std::nullopt;
}

/// The caller's registers.
std::optional<Registers> caller_of(const UnwindRule& rule, const Registers& at, const StackBytes& stack) {
  const auto frame = frame_of_caller(rule, at, stack);
  // The stack grows downwards, so a caller's frame is above.
  if (!frame || *frame <= at.stack) {
    return std::nullopt;
  }
  const auto returns_to = stack.word(*frame - word_bytes);
  if (!returns_to || *returns_to == 0) {
    return std::nullopt;
  }
  Registers caller{.instruction = *returns_to, .stack = *frame, .frame = at.frame};
  if (rule.base == UnwindRule::Base::frame_pointers || rule.is_frame_saved_at_frame) {
    caller.frame = stack.word(at.frame).value_or(0);
  } else if (rule.frame_saved_at != 0) {
    caller.frame = stack.word(*frame + static_cast<std::uintptr_t>(std::int64_t{rule.frame_saved_at})).value_or(0);
  }
  return caller;
}

}  // namespace

std::optional<std::uintptr_t> StackBytes::word(std::uintptr_t address) const noexcept {
  const std::uintptr_t at = address - begin;
  if (address < begin || bytes.size() < word_bytes || at > bytes.size() - word_bytes) {
    return std::nullopt;
  }
  std::uintptr_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::size_t Unwinder::find_callers(Registers at, const StackBytes& stack, std::span<std::uintptr_t> callers) {
  std::size_t count = 0;
  // A return address may be that of the next function, behind a call that never returns.
  std::uintptr_t instruction = at.instruction;
  while (count < callers.size()) {
    const auto caller = caller_of(rule(instruction), at, stack);
    if (!caller) {
      break;
    }
    at = *caller;
    instruction = at.instruction - 1;
    callers[count++] = at.instruction;
  }
  return count;
}

const UnwindRule& Unwinder::rule(std::uintptr_t instruction) {
  UnwindRule& known = rules_[(instruction ^ instruction >> 10U) % rules_.size()];
  if (known.instruction != instruction) {
    known = find_unwind_rule(instruction);
  }
  return known;
}

}  // namespace plait::record
