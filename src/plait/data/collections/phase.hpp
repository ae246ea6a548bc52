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

/// How a phase runs.
struct PhaseOptions {
  std::string_view name;      ///< In traces and errors; empty: the collection's.
  PhaseGate* gate = nullptr;  ///< Holds elements back until their data is there, as a `Lender` does; borrowed.
};

/// A phase of a collection under way: a handle, of which there is one. `PhaseReport` is its result.
///
///     PhaseReport report = cells.start(&Cell::move).wait();
///     PhaseReport report = co_await cells.start(&Cell::move);
///
/// The collection counts as in a phase until `wait` has returned or a coroutine has gone on. Threads: one at a time.
class [[nodiscard]] Phase {
 public:
  /// Of nothing.
  Phase() = default;
  explicit Phase(std::shared_ptr<detail::CollectionEngine> engine) noexcept : engine_{std::move(engine)} {}
  Phase(Phase&& other) noexcept = default;
  /// Waits for the phase that this handle has had, as the destructor does.
  Phase& operator=(Phase&& other) noexcept;
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  /// Waits until the phase is over. An error is kept by the scheduler, which throws it at the next start or wait.
  ~Phase();

  /// Whether there is a phase that was not waited for.
  [[nodiscard]] explicit operator bool() const noexcept { return engine_ != nullptr; }
  /// Executes tasks until the phase is over on all ranks, and ends it. Afterwards this handle is of nothing, and no
  /// other rank needs this one's progress for the phase: the program may block in MPI.
  ///
  /// Throws: the first `Error` on any rank; an exception of an element comes as `user_task` and names it; as
  /// `task::Run::wait`. Expects: a phase.
  PhaseReport wait();
  /// Executes a few tasks. True when the phase is over: `wait` then returns without waiting. Throws: as `wait`.
  [[nodiscard]] bool test();
  /// Whether the phase is over. Makes no progress.
  [[nodiscard]] bool is_over() const noexcept;
  /// Completes when the phase is over: for a task's dependency or a completion queue. The phase ends with `wait`.
  [[nodiscard]] comm::Request request();
  /// Calls `callback` once when the phase is over without error, or now. It is short, and does not wait. A worker may
  /// still be in it when `wait` has returned.
  void then(std::function<void()> callback);

  /// What `co_await` does: goes on when the phase is over, in the thread that made the progress. This ends the phase;
  /// before the program blocks in MPI, it calls `Endpoint::flush`.
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
