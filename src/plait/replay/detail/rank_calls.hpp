// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/replay/detail/collective_calls.hpp"
#include "plait/replay/detail/from_calls.hpp"
#include "plait/replay/detail/matched_messages.hpp"
#include "plait/replay/schedule.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// What the exchange of a recorded MPI program does not have, or not as it was.
struct CallTotals {
  std::size_t one_sided = 0;
  std::uint64_t one_sided_bytes = 0;
  std::size_t of_engine = 0;
  std::size_t tasks = 0;     ///< Of the engine.
  nanoseconds tasks_took{};  ///< In these.
  nanoseconds of_workers{};  ///< Time of all workers of the engine.
  std::size_t carried = 0;
  std::size_t without_call = 0;
  std::size_t of_other_threads = 0;
  std::size_t overlapping = 0;
  nanoseconds recording{};  ///< Time of the recorder that is left out, of all threads.
  nanoseconds recorded{};   ///< Time of all threads.
};

/// Adds a sentence for each of the totals.
void report(const CallTotals& totals, std::vector<std::string>& notices);

/// A message or non-blocking collective that a call starts or completes. `order`: of posting within the call.
struct CallItem {
  std::size_t call = 0;  ///< Index into the thread's calls.
  std::pair<nanoseconds, std::uint32_t> order;
  std::size_t item = 0;  ///< Index into the rank's messages, followed by its calls.
};

/// What one thread of a rank called.
struct ThreadCalls {
  std::vector<std::size_t> calls;  ///< Indices into `RankTrace::calls`, in the order of their starts.
  std::vector<CallItem> begun;     ///< By call, as is the next.
  std::vector<CallItem> ended;
};

/// The matched messages and collectives of a run of calls.
struct MatchedRun {
  std::map<std::uint32_t, std::vector<std::uint32_t>> communicators;
  MatchedMessages messages;
  CollectiveCalls collectives;

  MatchedRun(const trace::RunTrace& run, std::span<const TimeRange> ranges);
  /// What was left out of both.
  [[nodiscard]] std::vector<std::string> notices() const;
};

/// The calls of one rank by thread, each with what it starts and completes. Borrows the trace and what was matched.
class RankCalls {
 public:
  RankCalls(const trace::RankTrace& trace,
            const trace::ClockLine& clock,
            const MatchedRun& matched,
            const TimeRange& range,
            CallTotals& totals);

  [[nodiscard]] const std::vector<ThreadCalls>& threads() const noexcept { return threads_; }
  [[nodiscard]] const trace::RankTrace& trace() const noexcept { return trace_; }
  [[nodiscard]] const trace::CallEvent& call(std::size_t index) const { return trace_.calls[index].event; }
  /// What the call is as a collective; `none` if it is left out.
  [[nodiscard]] Collective kind(std::size_t call) const { return kinds_[call]; }
  [[nodiscard]] std::uint64_t bytes_of_message(std::size_t message) const { return bytes_[message].value_or(0); }
  /// A time of the rank by rank 0's clock.
  [[nodiscard]] nanoseconds at(nanoseconds time) const { return clock_.to_rank_zero(time); }
  /// How long the collective was under way that a call starts.
  [[nodiscard]] nanoseconds took(std::size_t call) const;

 private:
  struct CallPlace {
    std::size_t thread = 0;
    std::size_t call = 0;
  };

  void sort_calls(const TimeRange& range);
  void place_messages(CallTotals& totals);
  void place_begun_collectives();
  void sort_items();
  template <class Fits>
  [[nodiscard]] std::optional<CallPlace> find(std::size_t thread, nanoseconds time, const Fits& fits) const;
  template <class Fits>
  [[nodiscard]] std::optional<CallPlace> find_in_any(std::size_t thread, nanoseconds time, const Fits& fits) const;

  const trace::RankTrace& trace_;
  trace::ClockLine clock_;
  const std::vector<std::optional<std::uint64_t>>& bytes_;
  const std::vector<Collective>& kinds_;
  std::vector<ThreadCalls> threads_;
  std::map<std::size_t, nanoseconds> ends_of_begun_;  ///< By index of the call that started a collective.
};

/// When the first rank begins its range, by rank 0's clock; not before the end of MPI_Init.
[[nodiscard]] nanoseconds beginning_of(const trace::RunTrace& run, std::span<const TimeRange> ranges);

}  // namespace plait::replay::detail
