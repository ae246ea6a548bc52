// SPDX-License-Identifier: Apache-2.0
#include "plait/record/unwinder.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <execinfo.h>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "plait/record/unwind_rule.hpp"

namespace plait::record::unwinder_test {
namespace {

/// Both ways to the callers of one place.
struct Found {
  std::vector<std::uintptr_t> own;
  std::vector<std::uintptr_t> of_c_library;
};

constexpr std::size_t stack_bytes = 64 * 1024;

[[gnu::noinline]] Found find_here() {
  std::array<void*, 64> expected{};
  const int count = ::backtrace(expected.data(), static_cast<int>(expected.size()));
  Registers registers;
#ifdef __x86_64__
  asm volatile("lea (%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
               : "=r"(registers.instruction), "=r"(registers.stack), "=r"(registers.frame));
#endif
  // The test's thread has more stack than that above here, as its main function is far up.
  const StackBytes stack{.begin = registers.stack,
                         .bytes = {std::bit_cast<const std::byte*>(registers.stack), stack_bytes}};
  std::array<std::uintptr_t, 64> callers{};
  Unwinder unwinder;
  const std::size_t found = unwinder.find_callers(registers, stack, callers);
  Found both;
  both.own.assign(callers.begin(), callers.begin() + static_cast<std::ptrdiff_t>(found));
  for (int i = 1; i < count; ++i) {
    both.of_c_library.push_back(std::bit_cast<std::uintptr_t>(expected[static_cast<std::size_t>(i)]));
  }
  return both;
}

/// Frames of different kinds: of a fixed size, of a size that is known when it runs, and with a stack that is aligned.
[[gnu::noinline]] Found through_fixed(int depth);

[[gnu::noinline]] Found through_variable(int depth) {
  auto* const bytes = static_cast<volatile char*>(__builtin_alloca(static_cast<std::size_t>(depth) * 40 + 1));
  bytes[0] = 1;
  Found found = through_fixed(depth - 1);
  found.own.reserve(found.own.size() + static_cast<std::size_t>(bytes[0]));  // after the call: no tail call
  return found;
}

[[gnu::noinline]] Found through_aligned(int depth) {
  alignas(64) std::array<char, 128> bytes{1};
  asm volatile("" : : "r"(bytes.data()) : "memory");  // is used
  Found found = through_variable(depth - 1);
  found.own.reserve(found.own.size() + static_cast<std::size_t>(bytes[0]));
  return found;
}

Found through_fixed(int depth) {
  Found found = depth <= 0 ? find_here() : through_aligned(depth - 1);
  found.own.reserve(found.own.size() + 1);
  return found;
}

/// Room above the frames, so that the bytes of the stack exist wherever the test's main function is.
[[gnu::noinline]] Found with_room(int depth) {
  std::array<char, stack_bytes> room{1};
  asm volatile("" : : "r"(room.data()) : "memory");  // is used
  Found found = through_fixed(depth);
  found.own.reserve(found.own.size() + static_cast<std::size_t>(room[0]));
  return found;
}

TEST(Unwinder, finds_the_callers_that_the_c_library_finds) {
#ifndef __x86_64__
  // Elsewhere the recorder follows frame pointers, and has no unwinder to compare.
  GTEST_SKIP() << "needs registers of x86-64";
#endif
  const Found found = with_room(9);
  ASSERT_GE(found.own.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(found.own[i], found.of_c_library[i]) << "caller " << i;
  }
}

TEST(Unwinder, ends_at_the_end_of_the_stack_that_it_is_given) {
  const auto here = std::bit_cast<std::uintptr_t>(&find_here);
  std::array<std::uintptr_t, 4> words{};
  const StackBytes stack{.begin = std::bit_cast<std::uintptr_t>(words.data()),
                         .bytes = std::as_bytes(std::span{words})};
  std::array<std::uintptr_t, 8> callers{};
  Unwinder unwinder;
  // A damaged frame pointer, and a stack pointer beyond the bytes.
  EXPECT_EQ(
      unwinder.find_callers({.instruction = 16, .stack = stack.begin, .frame = ~std::uintptr_t{7}}, stack, callers),
      0U);
  EXPECT_EQ(unwinder.find_callers({.instruction = here, .stack = stack.begin + 4096, .frame = 0}, stack, callers), 0U);
  EXPECT_EQ(unwinder.find_callers({.instruction = here, .stack = 0, .frame = 0}, {}, callers), 0U);
}

TEST(Unwinder, survives_any_stack) {
  std::array<std::uintptr_t, 512> words{};
  const auto begin = std::bit_cast<std::uintptr_t>(words.data());
  const StackBytes stack{.begin = begin, .bytes = std::as_bytes(std::span{words})};
  const auto code = std::bit_cast<std::uintptr_t>(&find_here);
  std::array<std::uintptr_t, 64> callers{};
  Unwinder unwinder;
  std::uint64_t state = 1;
  const auto next = [&state] { return state = state * 6364136223846793005ULL + 1442695040888963407ULL; };
  for (int trial = 0; trial < 2000; ++trial) {
    for (std::uintptr_t& word : words) {
      const std::uint64_t random = next() >> 33U;
      word = random % 3 == 0 ? code + random % 4096 : random % 3 == 1 ? begin + random % sizeof words : random;
    }
    const std::size_t found =
        unwinder.find_callers({.instruction = code + next() % 512, .stack = begin, .frame = words[0]}, stack, callers);
    ASSERT_LE(found, callers.size());
  }
}

TEST(UnwindRule, knows_where_a_function_starts) {
  const auto start = std::bit_cast<std::uintptr_t>(&with_room);
  EXPECT_EQ(find_unwind_rule(start).function_start, start);
  EXPECT_EQ(find_unwind_rule(start + 7).function_start, start);
}

TEST(UnwindRule, of_no_code_trusts_the_frame_pointer) {
  int variable = 0;
  const UnwindRule rule = find_unwind_rule(std::bit_cast<std::uintptr_t>(&variable));
  EXPECT_EQ(rule.function_start, 0U);
  EXPECT_EQ(rule.base, UnwindRule::Base::frame_pointers);
}

}  // namespace
}  // namespace plait::record::unwinder_test
