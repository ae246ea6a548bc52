// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace plait::simulate {

/// A function with a stack of its own, which the thread that resumes it carries until it suspends itself.
///
/// A page below the stack ends the process when the stack is too small. Exceptions may be handled in a fiber while
/// others go on. Threads: the creating one. Cost: about 50 ns to resume and suspend; of the stack, memory is taken for
/// the pages that were used.
class Fiber {
 public:
  /// `body` must not throw. Throws: `std::bad_alloc` when there is no memory for the stack.
  Fiber(std::size_t stack_bytes, std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  /// Expects: it has ended, or was abandoned.
  ~Fiber();

  /// Goes on with the body; returns when it suspends itself or has ended. Expects: it has not ended.
  void resume();
  /// Returns to the caller of `resume`, until the next one. Expects: the body calls.
  void suspend();
  [[nodiscard]] bool has_ended() const noexcept;

  /// Gives up a fiber that never goes on: what its stack holds is not destroyed, and its memory is not freed.
  void abandon() noexcept;

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace plait::simulate
