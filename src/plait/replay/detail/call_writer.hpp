// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "plait/replay/detail/outside_time.hpp"
#include "plait/replay/detail/rank_calls.hpp"
#include "plait/replay/detail/stream_builder.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay::detail {

/// Writes the calls of one thread into a stream, one after the other, with the computing between them.
class CallWriter {
 public:
  /// Borrows the calls. `free`: from when on the thread computes, by rank 0's clock.
  CallWriter(const RankCalls& calls, std::size_t thread, std::uint32_t step, nanoseconds free);

  [[nodiscard]] bool is_at_end() const noexcept { return next_ == thread_.calls.size(); }
  /// Whether there is a call that starts before this time.
  [[nodiscard]] bool has_one_before(nanoseconds time) const { return !is_at_end() && start() < time; }
  /// When the next call starts. Expects: not at the end.
  [[nodiscard]] nanoseconds start() const { return calls_.at(calls_.call(thread_.calls[next_]).start); }
  /// Since when the thread has been outside of MPI.
  [[nodiscard]] nanoseconds free() const noexcept { return outside_.since(); }
  /// Time of the recorder that is left out of computing so far.
  [[nodiscard]] nanoseconds left_out() const noexcept { return outside_.left_out(); }
  /// The thread did something else before: it computes from this time on.
  void go_on_at(nanoseconds time) noexcept;
  /// Writes the computing until the next call, and the call.
  void write_next(Stream& stream, StreamBuilder& builder, CallTotals& totals);

 private:
  void begin(std::size_t index, Stream& stream, StreamBuilder& builder);
  void end(std::size_t index, Stream& stream, StreamBuilder& builder, bool is_polling);
  void defer(bool is_work);
  [[nodiscard]] nanoseconds recording_of(const trace::CallEvent& event, bool has_own_time) const;
  [[nodiscard]] Operation collective(std::size_t index, Stream& stream) const;

  const RankCalls& calls_;
  const ThreadCalls& thread_;
  std::uint32_t step_;
  trace::RecorderCostsEvent costs_;  ///< 0 in runs of older versions.
  std::vector<bool> is_work_;        ///< By call: `tests_of_work`.
  OutsideTime outside_;
  std::size_t next_ = 0;   ///< Call of the thread.
  std::size_t begun_ = 0;  ///< Next of `ThreadCalls::begun`.
  std::size_t ended_ = 0;
  bool has_called_ = false;
  bool found_nothing_ = false;                       ///< The last call completed nothing.
  std::map<std::size_t, std::uint32_t> operations_;  ///< By item.
  std::vector<std::uint32_t> to_wait_for_;
  std::vector<std::uint32_t> found_at_work_;
};

}  // namespace plait::replay::detail
