// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plait/base/backoff.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/replay/detail/play_state.hpp"
#include "plait/replay/player.hpp"

namespace plait::replay::detail {

/// One thread of a replay: begins operations, waits for them, tests them, and writes down what it did.
///
/// Threads: `hand` by any, the rest by its own.
class PlayThread {
 public:
  PlayThread(PlayState& state, trace::Recorder& recorder, const std::string& name, const Roles& roles);

  /// One lane, all by this thread.
  void run_alone(std::uint32_t lane);
  /// All lanes, those first that can go on; tests what its roles say, others the rest.
  void run_together();
  /// Tests what it is handed, until all lanes have come to their end.
  void run_polling();

  /// Gives it an operation to test.
  void hand(OperationId operation);

  void add_to(Played& played) const;

 private:
  /// Where this thread is in a lane.
  struct Place {
    std::uint32_t lane = 0;
    std::uint32_t next = 0;
    nanoseconds busy_until{};
    nanoseconds arrived{};  ///< At the wait that it is in.
    bool is_waiting = false;
  };

  [[nodiscard]] nanoseconds now() const { return recorder_.now(); }
  [[nodiscard]] const Lane& lane_of(const Place& place) const { return state_.part.schedule.lanes[place.lane]; }
  [[nodiscard]] nanoseconds scaled(nanoseconds time) const;
  void check_stop() const;
  void busy_until(nanoseconds end) const;
  void pace(const Operation& operation);
  void step_alone(Place& place);
  bool advance(Place& place);
  bool is_over(const Place& place, const Operation& wait) const;
  void begin(const Place& place, const Operation& operation);
  void begin_message(const Place& place, const Operation& operation);
  void begin_collective(const Place& place, const Operation& operation, Calling calling);
  /// Whether the next operation is a collective that all members call so that it waits.
  [[nodiscard]] bool may_wait_inside(const Place& place) const;
  void look();
  void wait(const Place& place, const Operation& operation);
  void end(OperationId operation, nanoseconds completed);
  void verify(const UnderWay& one);
  bool poll(std::size_t tests_max);
  void finish();
  /// When the call ended.
  nanoseconds note(std::size_t function, trace::CallEvent event);
  void watch(OperationId operation, const Operation& what);

  PlayState& state_;
  trace::Recorder& recorder_;
  trace::ThreadRecorder& trace_;
  Roles roles_;
  Crowding crowding_;
  std::vector<OperationId> watched_;
  std::size_t next_watched_ = 0;
  std::array<std::vector<nanoseconds>, function_count> samples_;
  nanoseconds computing_{};
  nanoseconds calling_{};
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  bool is_alone_ = false;  ///< Each operation is tested by whoever waits for it.
  std::vector<OperationId> waited_;

  SpinLock handed_mutex_;
  std::vector<OperationId> handed_;
};

}  // namespace plait::replay::detail
