// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>

#include "plait/base/clock.hpp"

namespace plait {

/// Whether the body of a task runs, or only its cost is charged.
enum class BodyUse : std::uint8_t { runs, skipped };

/// Carries the threads of one rank that are not the system's: on a virtual clock, all ranks share one thread of the
/// system, and the executor decides which of them goes on. Without an executor, the system does.
///
/// Threads of an executor change only in `wait`, `sleep` and `execute`. A caller holds no lock there that another
/// thread of the rank may need. Threads: one at a time.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  /// A number of the calling thread, which no other thread of the process has.
  [[nodiscard]] virtual std::uint64_t self() const noexcept = 0;
  /// Starts a thread of this rank. `life` must not throw. What it uses must live until it has returned.
  virtual void start(std::function<void()> life) = 0;

  /// Waits until something may have changed for this rank, an event of its network or a `notify`, since the last wait.
  virtual void wait() = 0;
  /// Wakes all threads of this rank that wait.
  virtual void notify() noexcept = 0;
  /// Waits for a time of the network's clock.
  virtual void sleep(nanoseconds length) = 0;

  /// Calls `body` once, for a task of this kind, and charges the cost of the task to the clock: another thread may go
  /// on before this returns. Throws: what `body` throws.
  virtual void execute(std::string_view kind, const std::function<void(BodyUse)>& body) = 0;
  /// Whether bodies run, so that their results have a meaning.
  [[nodiscard]] virtual bool runs_bodies() const noexcept = 0;
};

/// A number of the calling thread, which no other thread has that lives now. Never 0.
[[nodiscard]] inline std::uint64_t thread_number(const Executor* executor) noexcept {
  if (executor != nullptr) {
    return executor->self();
  }
  static constinit thread_local const char own = 0;
  return std::bit_cast<std::uintptr_t>(&own);
}

}  // namespace plait
