// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plait/base/spin_lock.hpp"
#include "plait/data/collections/detail/links.hpp"
#include "plait/data/collections/detail/news.hpp"
#include "plait/data/collections/detail/termination.hpp"
#include "plait/task/open_run.hpp"
#include "plait/task/run/kinds.hpp"

namespace plait::data::detail {

/// Begins and ends the phases of a collection on this rank. A migration is a phase without a run of tasks.
///
/// Order of calls: `begin`, `start_run` for a phase of tasks, `open`, `wait`, `close`. Threads: one at a time; any for
/// `take` and reports of quiet.
class PhaseControl {
 public:
  PhaseControl(const CollectionInfo& info, comm::HandlerId handler, Links& links, const News& news);

  /// Throws: `Error` with `bad_argument` that names what cannot be done (`wish`) while a phase is open, or after one
  /// has failed.
  void throw_unless_idle(std::string_view wish) const;
  /// Ends the run on all ranks, and throws `error`.
  [[noreturn]] void fail_all(const Error& error);

  /// `name`: of the phase; empty: the collection's.
  void begin(std::string_view name);
  [[nodiscard]] task::OpenRun& start_run();
  /// Takes messages from now on, and may report this rank as quiet: all its elements are submitted.
  void open();
  /// Returns when the phase has ended on all ranks. Throws: as `task::OpenRun::wait`, or as the endpoint.
  void wait();
  /// Expects: the phase is over.
  void close();
  /// Waits until no element of a phase that has failed is executed, also if the phase began and `wait` was not called.
  void end() noexcept { run_.reset(); }

  /// Reports this rank as quiet if it is.
  void look() noexcept;
  /// The same; true when the phase is over. While it is open.
  [[nodiscard]] bool look_for_end() noexcept;
  /// Takes a note on termination.
  void take(Rank source, const Termination::Note& note) { termination_.take(source, note); }

  /// The run of the open phase; null in a migration, and between phases.
  [[nodiscard]] task::OpenRun* run() noexcept { return run_ ? &*run_ : nullptr; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] const task::detail::Label& label() const noexcept { return label_; }
  /// Returns the time from `begin` until the phase was over. Expects: it is over.
  [[nodiscard]] nanoseconds took() const noexcept;
  /// Returns a number that changes with the elements of any rank, equal on all ranks after the same phase.
  [[nodiscard]] std::uint64_t placement() const noexcept { return placement_; }
  void note_migration(std::uint64_t moved) noexcept { moved_ += moved; }

 private:
  enum class State : std::uint8_t { idle, open, failed };

  [[nodiscard]] std::string describe_waiting() const;
  [[nodiscard]] Counts counts() const noexcept;

  const CollectionInfo& info_;
  Links& links_;
  const News& news_;
  Termination termination_;
  State state_ = State::idle;
  std::uint64_t number_ = 0;
  task::detail::Label label_;
  std::optional<task::OpenRun> run_;
  nanoseconds began_{};
  std::atomic<std::int64_t> over_ns_ = 0;  ///< When this rank has seen that all have ended; 0: not yet.
  std::uint64_t moved_ = 0;                ///< Elements that have left this rank in migrations.
  std::uint64_t placement_ = 0;

  SpinLock look_lock_;
  bool can_look_ = false;  ///< Whether this rank may report that it is quiet; under the lock.
};

}  // namespace plait::data::detail
