// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/backoff.hpp"
#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/replay/check.hpp"
#include "plait/replay/detail/play_state.hpp"
#include "plait/replay/player.hpp"

namespace plait::replay::detail {
namespace {

/// The number of operations tested after each post, and in each poll of an idle thread.
constexpr std::size_t tests_between = 8;
constexpr std::size_t tests_a_poll = 256;

/// Messages should not wait for a sleeping thread, but cores may be fewer than threads.
constexpr WaitPolicy wait_policy{.yield = std::chrono::milliseconds{10}, .sleep_max = std::chrono::microseconds{20}};

}  // namespace

/// One thread of a replay: starts, tests and awaits operations, and records its calls.
///
/// Threads: its own; `handed_` by any.
class PlayThread {
 public:
  PlayThread(PlayState& state, trace::Recorder& recorder, const std::string& name)
      : state_{state}, recorder_{recorder}, trace_{recorder.thread(WorkerId{}, name)} {}

  /// Plays one stream, with all roles.
  void run_alone(std::uint32_t stream) {
    is_alone_ = true;
    Place place{.stream = stream};
    while (place.next < stream_of(place).operations.size()) {
      check_stop();
      step_alone(place);
      state_.at[stream].store(place.next, std::memory_order_release);  // with acquire in has_passed()
      state_.note_motion();
    }
    run_polling();
  }

  /// Plays all streams, as far as each can continue, and tests the operations of its roles.
  void run_together() {
    std::vector<Place> places;
    for (std::uint32_t stream = 0; stream < state_.part.schedule.streams.size(); ++stream) {
      places.push_back({.stream = stream});
    }
    Backoff backoff{wait_policy, crowding_};
    while (!places.empty()) {
      check_stop();
      bool has_moved = false;
      for (Place& place : places) {
        has_moved = advance(place) || has_moved;
        const std::uint32_t computing = is_computing(place) ? 1 : 0;
        state_.at[place.stream].store(place.next - computing, std::memory_order_release);  // acquire in has_passed()
      }
      std::erase_if(places, [&](const Place& place) {
        return place.next == stream_of(place).operations.size() && !is_computing(place);
      });
      const bool has_time = std::ranges::none_of(places, [](const Place& place) { return place.is_waiting; });
      const bool is_busy = has_time && state_.options.computing == Computing::keep && state_.options.rate == 0;
      if (has_moved) {
        state_.note_motion();
        backoff.reset();
      } else if (!is_busy && !poll(tests_a_poll)) {
        backoff.pause();
      }
    }
    state_.signals.has_begun_all.store(true, std::memory_order_release);  // with acquire in run_polling()
    run_polling();
  }

  /// Tests the operations that it started or was handed, until all streams have ended.
  void run_polling() {
    Backoff backoff{wait_policy, crowding_};
    while (true) {
      check_stop();
      const bool is_last =
          is_alone_ || state_.signals.has_begun_all.load(std::memory_order_acquire);  // with release in run_together()
      {
        const std::lock_guard lock{handed_mutex_};
        watched_.insert(watched_.end(), handed_.begin(), handed_.end());
        handed_.clear();
      }
      if (watched_.empty() && is_last) {
        return;
      }
      if (poll(tests_a_poll)) {
        backoff.reset();
      } else {
        backoff.pause();
      }
    }
  }

  void add_to(Played& played) const {
    played.computing += totals_.computing;
    played.calling += totals_.calling;
    played.messages += totals_.messages;
    played.bytes += totals_.bytes;
    for (std::size_t i = 0; i < function_count; ++i) {
      if (!samples_[i].empty()) {
        auto& all = played.calls[state_.function_texts[i]];
        all.insert(all.end(), samples_[i].begin(), samples_[i].end());
      }
    }
  }

 private:
  /// The position in a stream.
  struct Place {
    std::uint32_t stream = 0;
    std::uint32_t next = 0;
    nanoseconds busy_until{};
    nanoseconds arrived{};  ///< Start of the current wait.
    bool is_waiting = false;
  };

  [[nodiscard]] nanoseconds now() const { return recorder_.now(); }
  [[nodiscard]] bool is_computing(const Place& place) const { return now() < place.busy_until; }
  [[nodiscard]] const Stream& stream_of(const Place& place) const { return state_.part.schedule.streams[place.stream]; }
  [[nodiscard]] nanoseconds scaled(nanoseconds time) const {
    const double rate = state_.options.rate;
    return rate > 0 && rate != 1 ? nanoseconds{static_cast<nanoseconds::rep>(static_cast<double>(time.count()) / rate)}
                                 : time;
  }

  void check_stop() const {
    if (state_.signals.stops.load(std::memory_order_relaxed)) {  // a hint; orders nothing
      throw Error{ErrorCode::peer_failed, "another thread of this rank has failed"};
    }
  }

  void busy_until(nanoseconds end) const {
    while (now() < end) {
    }
  }

  void pace(const Operation& operation) {
    const PlayOptions& options = state_.options;
    if (options.rate > 0) {
      const nanoseconds due = state_.begin + scaled(operation.at);
      while (now() < due) {
        if (!poll(tests_a_poll) && options.computing == Computing::drop) {
          state_.backend.progress();
        }
      }
    }
  }

  void step_alone(Place& place) {
    const Operation& operation = stream_of(place).operations[place.next];
    pace(operation);
    if (operation.action == Action::compute) {
      if (state_.options.computing == Computing::keep) {
        const nanoseconds took = scaled(operation.took);
        free_since_ = (state_.options.rate > 0 ? now() : free_since_) + took;
        busy_until(free_since_);
        totals_.computing += took;
      }
    } else if (operation.action == Action::wait) {
      wait(place, operation);
    } else if (operation.action == Action::after) {
      wait_for_others(place, operation);
    } else if (may_wait_inside(place)) {
      begin_collective(place, operation, Calling::waits);
      ++place.next;  // the wait for it
    } else {
      begin(place, operation);
      poll(tests_between);
    }
    ++place.next;
  }

  bool advance(Place& place) {
    if (place.next == stream_of(place).operations.size() || is_computing(place)) {
      return false;
    }
    const Operation& operation = stream_of(place).operations[place.next];
    if (state_.options.rate > 0 && now() < state_.begin + scaled(operation.at)) {
      return false;
    }
    switch (operation.action) {
      case Action::compute:
        if (state_.options.computing == Computing::keep) {
          place.busy_until = now() + scaled(operation.took);
          totals_.computing += scaled(operation.took);
        }
        break;
      case Action::wait: {
        if (!std::exchange(place.is_waiting, true)) {
          place.arrived = now();
        }
        if (!is_over(place, operation)) {
          return false;
        }
        place.is_waiting = false;
        note(function_wait,
             {.what = trace::CallClass::completes,
              .start = place.arrived,
              .number = state_.next_number(),
              .count = operation.count});
        break;
      }
      case Action::after:
        place.is_waiting = !has_followed(place, operation);
        if (place.is_waiting) {
          return false;
        }
        break;
      default:
        begin(place, operation);
    }
    ++place.next;
    return true;
  }

  /// Whether the other streams have passed what an operation waits for.
  bool has_followed(const Place& place, const Operation& operation) const {
    const auto others = std::span{stream_of(place).others}.subspan(operation.first, operation.count);
    return std::ranges::all_of(others, [this](const StreamPoint& point) { return state_.has_passed(point); });
  }

  void wait_for_others(const Place& place, const Operation& operation) {
    Backoff backoff{wait_policy, crowding_};
    while (!has_followed(place, operation)) {
      check_stop();
      state_.backend.progress();
      backoff.pause();
    }
    free_since_ = now();
  }

  bool is_over(const Place& place, const Operation& wait) const {
    for (std::uint32_t i = 0; i < wait.count; ++i) {
      const OperationId id = state_.id(place.stream, stream_of(place).waited[wait.first + i]);
      if (state_.operations[id.value()].stage.load(std::memory_order_acquire) != Stage::ended) {  // release in end()
        return false;
      }
    }
    return true;
  }

  void begin(const Place& place, const Operation& operation) {
    if (operation.action == Action::poll) {
      const nanoseconds start = now();
      state_.backend.progress();
      note(function_progress, {.what = trace::CallClass::completes, .start = start, .number = state_.next_number()});
    } else if (operation.action == Action::collective) {
      begin_collective(place, operation, Calling::goes_on);
    } else {
      if (operation.action == Action::send && state_.options.delay > nanoseconds::zero()) {
        busy_until(now() + state_.options.delay);
      }
      begin_message(place, operation);
    }
  }

  void begin_message(const Place& place, const Operation& operation) {
    const OperationId id = state_.id(place.stream, place.next);
    UnderWay& one = state_.operations[id.value()];
    const bool is_send = operation.action == Action::send;
    one.buffer = state_.pool_of(operation).take(operation.bytes);
    const std::span data{one.buffer, operation.bytes};
    if (state_.options.payload == Payload::checked) {
      one.order = state_.orders.next(operation);
      if (is_send) {
        PayloadPattern{name_of(one)}.fill(data);
      }
    }
    one.number = state_.next_number();
    one.stage.store(Stage::begun, std::memory_order_release);  // with acquire in describe_waiting()
    one.posted = now();
    const Envelope envelope{Rank{operation.peer}, operation.communicator, operation.tag};
    if (is_send) {
      state_.backend.send(id, envelope, data);
    } else {
      state_.backend.receive(id, envelope, data);
    }
    one.handed = now();
    note(is_send ? function_send : function_receive,
         {.what = trace::CallClass::begins_message,
          .communicator = operation.communicator,
          .start = one.posted,
          .end = one.handed,
          .bytes_given = is_send ? operation.bytes : 0,
          .bytes_got = is_send ? 0 : operation.bytes,
          .peer = operation.peer,
          .number = one.number});
    watch(id, operation);
  }

  void begin_collective(const Place& place, const Operation& operation, Calling calling) {
    const OperationId id = state_.id(place.stream, place.next);
    UnderWay& one = state_.operations[id.value()];
    one.buffer = state_.buffers.take(operation.bytes + operation.bytes_got);
    const auto shares = state_.part.shares.find({place.stream, place.next});
    CollectiveCall call{.what = operation.collective,
                        .communicator = operation.communicator,
                        .root = operation.peer,
                        .given = {one.buffer, operation.bytes},
                        .got = {one.buffer + operation.bytes, operation.bytes_got}};
    if (shares != state_.part.shares.end()) {
      call.shares = shares->second.given;
      call.got_shares = shares->second.got;
    }
    one.number = state_.next_number();
    one.stage.store(Stage::begun, std::memory_order_release);  // with acquire in describe_waiting()
    one.posted = now();
    const bool waits = calling == Calling::waits;
    if (waits) {
      state_.backend.collective_to_end(id, call);
    } else {
      state_.backend.collective(id, call);
    }
    note(function_of(operation.collective, calling),
         {.what = waits ? trace::CallClass::collective : trace::CallClass::begins_collective,
          .communicator = operation.communicator,
          .start = one.posted,
          .bytes_given = operation.bytes,
          .bytes_got = operation.bytes_got,
          .peer = operation.peer,
          .number = one.number});
    if (waits) {
      end(id, now());
    } else {
      watch(id, operation);
    }
  }

  /// Whether the next operation is a collective that all members call as a blocking one.
  [[nodiscard]] bool may_wait_inside(const Place& place) const {
    // Equal on all members: the options are, and members in `waited_by_all` have one stream.
    return stream_of(place).operations[place.next].action == Action::collective &&
           !state_.options.has_several_threads(state_.part.schedule.streams.size()) &&
           state_.part.waited_by_all.contains({place.stream, place.next});
  }

  void wait(const Place& place, const Operation& operation) {
    waited_.clear();
    for (std::uint32_t i = 0; i < operation.count; ++i) {
      const OperationId id = state_.id(place.stream, stream_of(place).waited[operation.first + i]);
      if (state_.operations[id.value()].stage.load(std::memory_order_relaxed) == Stage::begun) {  // this thread's own
        waited_.push_back(id);
      }
    }
    trace::CallEvent event{.what = trace::CallClass::completes,
                           .start = now(),
                           .number = state_.next_number(),
                           .count = static_cast<std::uint32_t>(waited_.size())};
    if (!state_.options.has_several_threads(state_.part.schedule.streams.size())) {
      state_.backend.wait(waited_);
      const nanoseconds completed = note(function_wait, event);
      std::ranges::for_each(waited_, [this, completed](OperationId id) { end(id, completed); });
      return;
    }
    // Another thread's failure must end this wait.
    Backoff backoff{wait_policy, crowding_};
    while (!waited_.empty()) {
      check_stop();
      const std::size_t ended = std::erase_if(waited_, [this](OperationId id) {
        const bool has_ended = state_.backend.test(id);
        if (has_ended) {
          end(id, now());
        }
        return has_ended;
      });
      if (ended == 0) {
        backoff.pause();
      }
    }
    note(function_wait, event);
  }

  void end(OperationId operation, nanoseconds completed) {
    UnderWay& one = state_.operations[operation.value()];
    const Operation& what = state_.operation(one);
    if (what.action == Action::collective) {
      state_.buffers.give(one.buffer, what.bytes + what.bytes_got);
    } else {
      const bool is_send = what.action == Action::send;
      if (!is_send && state_.options.payload == Payload::checked) {
        verify(one);
      }
      trace_.message({.direction = is_send ? trace::MessageDirection::sent : trace::MessageDirection::received,
                      .protocol = trace::Protocol::not_known,
                      .peer = Rank{what.peer},
                      .communicator = what.communicator,
                      .sequence = one.number,
                      .tag = Tag{what.tag},
                      .bytes = what.bytes,
                      .is_matched_by_order = true,
                      .posted = one.posted,
                      .handed = is_send ? one.handed : nanoseconds{},
                      .completed = completed});
      ++totals_.messages;
      totals_.bytes += what.bytes;
      state_.pool_of(what).give(one.buffer, what.bytes);
    }
    state_.note_motion();
    one.stage.store(Stage::ended, std::memory_order_release);  // with acquire in is_over()
  }

  [[nodiscard]] MessageName name_of(const UnderWay& one) const {
    const Operation& what = state_.operation(one);
    const bool is_send = what.action == Action::send;
    return {.source = is_send ? state_.part.self.value() : what.peer,
            .destination = is_send ? what.peer : state_.part.self.value(),
            .communicator = what.communicator,
            .tag = what.tag,
            .order = one.order};
  }

  void verify(const UnderWay& one) {
    const Operation& what = state_.operation(one);
    const auto difference = PayloadPattern{name_of(one)}.find_difference({one.buffer, what.bytes});
    if (difference) {
      const Stream& stream = state_.part.schedule.streams[one.stream];
      throw Error{ErrorCode::network,
                  fmt::format("{}: the payload differs from what was sent, from byte {} on",
                              describe(what, state_.part.self.value(), stream, one.index),
                              *difference),
                  Rank{what.peer}};
    }
  }

  bool poll(std::size_t tests_max) {
    bool has_ended = false;
    for (std::size_t left = std::min(tests_max, watched_.size()); left > 0 && !watched_.empty(); --left) {
      next_watched_ = next_watched_ < watched_.size() ? next_watched_ : 0;
      const OperationId id = watched_[next_watched_];
      const nanoseconds start = now();
      if (!state_.backend.test(id)) {
        ++next_watched_;
        continue;
      }
      const nanoseconds completed =
          note(function_test,
               {.what = trace::CallClass::completes, .start = start, .number = state_.next_number(), .count = 1});
      end(id, completed);
      has_ended = true;
      watched_[next_watched_] = watched_.back();
      watched_.pop_back();
    }
    return has_ended;
  }

  /// Records a call; returns its end.
  nanoseconds note(std::size_t function, trace::CallEvent event) {
    if (event.end == nanoseconds::zero()) {
      event.end = now();
    }
    event.function = state_.functions[function];
    free_since_ = event.end;
    samples_[function].push_back(event.end - event.start);
    totals_.calling += event.end - event.start;
    trace_.call(event);
    return event.end;
  }

  void watch(OperationId operation, const Operation& what) {
    if (is_alone_) {
      if (!state_.operations[operation.value()].is_waited) {
        watched_.push_back(operation);
      }
      return;
    }
    PlayThread* const who = what.action == Action::send      ? state_.sends_to
                            : what.action == Action::receive ? state_.receives_to
                                                             : this;
    if (who == this) {
      watched_.push_back(operation);
    } else {
      const std::lock_guard lock{who->handed_mutex_};
      who->handed_.push_back(operation);
    }
  }

  PlayState& state_;
  trace::Recorder& recorder_;
  trace::ThreadRecorder& trace_;
  Crowding crowding_;
  std::vector<OperationId> watched_;
  std::size_t next_watched_ = 0;
  std::array<std::vector<nanoseconds>, function_count> samples_;
  Played totals_;                             ///< Without times and calls.
  bool is_alone_ = false;                     ///< One stream: waits test their operations.
  nanoseconds free_since_ = recorder_.now();  ///< End of the last call or computing: as in a log, computing counts on.
  std::vector<OperationId> waited_;

  SpinLock handed_mutex_;
  std::vector<OperationId> handed_;
};

namespace {

/// Runs each function on a thread, the first on this one. Throws the first exception.
void run_all(const std::vector<std::function<void()>>& runs, PlayState& state) {
  std::mutex mutex;
  std::exception_ptr trouble;
  const auto run = [&](const std::function<void()>& function) {
    try {
      function();
    } catch (...) {
      state.signals.stops.store(true, std::memory_order_relaxed);  // a hint to the others; orders nothing
      const std::lock_guard lock{mutex};
      trouble = trouble ? trouble : std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < runs.size(); ++i) {
      threads.emplace_back(run, runs[i]);
    }
    run(runs[0]);
  }
  if (trouble) {
    std::rethrow_exception(trouble);
  }
}

std::string name_of(const Roles& roles) {
  std::string name;
  const auto add = [&](bool has, const char* role) {
    if (has) {
      name += name.empty() ? role : fmt::format("+{}", role);
    }
  };
  add(roles.injects, "inject");
  add(roles.polls_sends, "sends");
  add(roles.polls_receives, "receives");
  return name;
}

void begin_repetition(PlayState& state, trace::Recorder& recorder) {
  state.rewind();
  for (std::size_t i = 0; i < function_count; ++i) {
    if (!state.function_texts[i].empty()) {
      state.functions[i] = recorder.name(trace::Role::function, state.function_texts[i]);
    }
  }
  state.begin = recorder.now();
}

}  // namespace
}  // namespace plait::replay::detail

namespace plait::replay {

Played Player::play(trace::Recorder& recorder) {
  using detail::PlayThread;
  detail::PlayState& state = *state_;
  detail::begin_repetition(state, recorder);
  std::vector<std::unique_ptr<PlayThread>> threads;
  std::vector<std::function<void()>> runs;
  const auto add = [&](const std::string& name) {
    return threads.emplace_back(std::make_unique<PlayThread>(state, recorder, name)).get();
  };
  const std::size_t streams = state.part.schedule.streams.size();
  const std::vector<Roles>& roles_of_all = state.options.threads;
  for (std::uint32_t i = 0; roles_of_all.empty() && i < streams; ++i) {
    runs.emplace_back([thread = add(fmt::format("stream {}", i)), i] { thread->run_alone(i); });
  }
  for (const Roles& roles : roles_of_all) {
    PlayThread* const thread = add(detail::name_of(roles));
    state.sends_to = roles.polls_sends ? thread : state.sends_to;
    state.receives_to = roles.polls_receives ? thread : state.receives_to;
    const bool is_alone = roles_of_all.size() == 1 && streams == 1;
    runs.emplace_back([thread, &roles, is_alone] {
      is_alone ? thread->run_alone(0) : roles.injects ? thread->run_together() : thread->run_polling();
    });
  }
  Played played;
  played.begin = state.begin;
  if (streams > 0) {
    detail::run_all(runs, state);
  }
  played.end = recorder.now();
  for (const auto& thread : threads) {
    thread->add_to(played);
  }
  return played;
}

}  // namespace plait::replay
