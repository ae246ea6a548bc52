// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <string_view>

#include "plait/comm/request.hpp"
#include "plait/data/collections/phase_gate.hpp"
#include "plait/data/collections/report.hpp"

namespace plait::task {
class Run;
}

namespace plait::data {

namespace detail {
class CollectionEngine;
}

/// Settings of a phase.
struct PhaseOptions {
  std::string_view name;      ///< In traces and errors; empty: the collection's.
  PhaseGate* gate = nullptr;  ///< Delays elements until their data has arrived, as a `Lender` does; borrowed.
};

/// The unique handle to a phase of a collection. `PhaseReport` is its result.
///
///     PhaseReport report = cells.start(&Cell::move).wait();
///     PhaseReport report = co_await cells.start(&Cell::move);
///
/// The phase is open until `wait` has returned or a coroutine has resumed. Threads: one at a time.
class [[nodiscard]] Phase {
 public:
  /// Creates an empty handle.
  Phase() = default;
  explicit Phase(std::shared_ptr<detail::CollectionEngine> engine) noexcept : engine_{std::move(engine)} {}
  Phase(Phase&& other) noexcept = default;
  /// Waits for the previous phase, as the destructor does.
  Phase& operator=(Phase&& other) noexcept;
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  /// Waits until the phase is over. The scheduler keeps an error, and throws it at the next start or wait.
  ~Phase();

  /// Returns whether there is a phase that was not waited for.
  [[nodiscard]] explicit operator bool() const noexcept { return engine_ != nullptr; }
  /// Executes tasks until the phase is over on all ranks, and closes it. Afterwards this handle is empty, and the
  /// program may block in MPI: no other rank needs progress of this one for the phase.
  ///
  /// Throws: the first `Error` on any rank; other exceptions of an element become `user_task` and name it; as
  /// `task::Run::wait`. Expects: a phase.
  PhaseReport wait();
  /// Executes a few tasks. Returns whether the phase is over, so that `wait` will not wait. Throws: as `wait`.
  [[nodiscard]] bool test();
  /// Returns whether the phase is over. Makes no progress.
  [[nodiscard]] bool is_over() const noexcept;
  /// Returns a request that completes when the phase is over, for tasks and completion queues. `wait` closes the phase.
  [[nodiscard]] comm::Request request();
  /// Calls `callback` once when the phase is over without error, at once if it is. It must be short and not wait, and
  /// may still run when `wait` has returned.
  void then(std::function<void()> callback);

  /// Resumes a coroutine when the phase is over, in the thread that made the progress, and closes the phase. Call
  /// `Endpoint::flush` before the program blocks in MPI.
  class Awaiter {
   public:
    explicit Awaiter(Phase& phase) noexcept : phase_{phase} {}
    [[nodiscard]] bool await_ready() const noexcept { return phase_.is_over(); }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<> caller);
    PhaseReport await_resume();

   private:
    Phase& phase_;
  };
  [[nodiscard]] Awaiter operator co_await() noexcept { return Awaiter{*this}; }

 private:
  [[nodiscard]] task::Run* run() const noexcept;

  std::shared_ptr<detail::CollectionEngine> engine_;
};

}  // namespace plait::data
