// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/play_thread.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/replay/check.hpp"

namespace plait::replay::detail {
namespace {

/// How many operations are tested after each begin, and in each look while there is nothing else to do.
constexpr std::size_t tests_between = 8;
constexpr std::size_t tests_a_look = 256;

/// Messages should not wait for a sleeping thread, but cores may be fewer than threads.
constexpr WaitPolicy wait_policy{.yield_spins = 1000, .sleep_max = std::chrono::microseconds{20}};

}  // namespace

PlayThread::PlayThread(PlayState& state, trace::Recorder& recorder, const std::string& name, const Roles& roles)
    : state_{state}, recorder_{recorder}, trace_{recorder.thread(WorkerId{}, name)}, roles_{roles} {}

// --- lanes ----------------------------------------------------------------------------------------------------------

void PlayThread::run_alone(std::uint32_t lane) {
  is_alone_ = true;
  Place place{.lane = lane};
  while (place.next < lane_of(place).operations.size()) {
    check_stop();
    step_alone(place);
    state_.at[lane].store(place.next, std::memory_order_relaxed);  // a hint; orders nothing
    state_.moved.fetch_add(1, std::memory_order_relaxed);          // a count; orders nothing
  }
  finish();
}

void PlayThread::step_alone(Place& place) {
  const Operation& operation = lane_of(place).operations[place.next];
  pace(operation);
  if (operation.action == Action::compute) {
    if (state_.options.computing == Computing::keep) {
      const nanoseconds took = scaled(operation.took);
      busy_until(now() + took);
      computing_ += took;
    }
  } else if (operation.action == Action::wait) {
    wait(place, operation);
  } else if (may_wait_inside(place)) {
    begin_collective(place, operation, Calling::waits);
    ++place.next;  // the wait for it
  } else {
    begin(place, operation);
    poll(tests_between);
  }
  ++place.next;
}

void PlayThread::run_together() {
  std::vector<Place> places;
  for (std::uint32_t lane = 0; lane < state_.part.schedule.lanes.size(); ++lane) {
    places.push_back({.lane = lane});
  }
  Backoff backoff{wait_policy, crowding_};
  while (!places.empty()) {
    check_stop();
    bool has_moved = false;
    for (Place& place : places) {
      has_moved = advance(place) || has_moved;
      state_.at[place.lane].store(place.next, std::memory_order_relaxed);  // a hint; orders nothing
    }
    std::erase_if(places, [&](const Place& place) { return place.next == lane_of(place).operations.size(); });
    const bool has_time = std::ranges::none_of(places, [](const Place& place) { return place.is_waiting; });
    const bool is_computing = has_time && state_.options.computing == Computing::keep && state_.options.rate == 0;
    if (has_moved) {
      state_.moved.fetch_add(1, std::memory_order_relaxed);  // a count; orders nothing
      backoff.reset();
    } else if (!is_computing && !poll(tests_a_look)) {
      backoff.pause();
    }
  }
  finish();
  state_.has_begun_all.store(true, std::memory_order_release);  // with acquire in run_polling()
}

bool PlayThread::advance(Place& place) {
  if (place.next == lane_of(place).operations.size() || now() < place.busy_until) {
    return false;
  }
  const Operation& operation = lane_of(place).operations[place.next];
  if (state_.options.rate > 0 && now() < state_.begin + scaled(operation.at)) {
    return false;
  }
  switch (operation.action) {
    case Action::compute:
      if (state_.options.computing == Computing::keep) {
        place.busy_until = now() + scaled(operation.took);
        computing_ += scaled(operation.took);
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
            .number = state_.numbers.fetch_add(1, std::memory_order_relaxed) + 1,  // a count; orders nothing
            .count = operation.count});
      break;
    }
    default:
      begin(place, operation);
  }
  ++place.next;
  return true;
}

bool PlayThread::is_over(const Place& place, const Operation& wait) const {
  for (std::uint32_t i = 0; i < wait.count; ++i) {
    const OperationId id = state_.id(place.lane, lane_of(place).waited[wait.first + i]);
    if (state_.operations[id.value()].stage.load(std::memory_order_acquire) != Stage::ended) {  // release in end()
      return false;
    }
  }
  return true;
}

void PlayThread::run_polling() {
  Backoff backoff{wait_policy, crowding_};
  while (true) {
    check_stop();
    const bool is_last = state_.has_begun_all.load(std::memory_order_acquire);  // with release in run_together()
    {
      const std::lock_guard lock{handed_mutex_};
      watched_.insert(watched_.end(), handed_.begin(), handed_.end());
      handed_.clear();
    }
    if (watched_.empty() && is_last) {
      return;
    }
    if (poll(tests_a_look)) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }
}

// --- time -----------------------------------------------------------------------------------------------------------

nanoseconds PlayThread::scaled(nanoseconds time) const {
  const double rate = state_.options.rate;
  return rate > 0 && rate != 1 ? nanoseconds{static_cast<nanoseconds::rep>(static_cast<double>(time.count()) / rate)}
                               : time;
}

void PlayThread::busy_until(nanoseconds end) const {
  while (now() < end) {
  }
}

void PlayThread::pace(const Operation& operation) {
  const PlayOptions& options = state_.options;
  if (options.rate > 0) {
    const nanoseconds due = state_.begin + scaled(operation.at);
    while (now() < due) {
      if (!poll(tests_a_look) && options.computing == Computing::drop) {
        state_.backend.progress();
      }
    }
  }
}

void PlayThread::check_stop() const {
  if (state_.stops.load(std::memory_order_relaxed)) {  // a hint; orders nothing
    throw Error{ErrorCode::peer_failed, "another thread of this rank has failed"};
  }
}

// --- operations -----------------------------------------------------------------------------------------------------

void PlayThread::begin(const Place& place, const Operation& operation) {
  switch (operation.action) {
    case Action::look:
      return look();
    case Action::send:
      if (state_.options.delay > nanoseconds::zero()) {
        busy_until(now() + state_.options.delay);
      }
      return begin_message(place, operation);
    case Action::receive:
      return begin_message(place, operation);
    default:
      return begin_collective(place, operation, Calling::goes_on);
  }
}

void PlayThread::begin_message(const Place& place, const Operation& operation) {
  const OperationId id = state_.id(place.lane, place.next);
  UnderWay& one = state_.operations[id.value()];
  const bool is_send = operation.action == Action::send;
  one.buffer = state_.pool_of(operation).take(operation.bytes);
  const std::span data{one.buffer, operation.bytes};
  if (state_.options.payload == Payload::checked) {
    one.order = state_.next_order(operation);
    if (is_send) {
      PayloadPattern{state_.name_of(one)}.fill(data);
    }
  }
  one.number = state_.numbers.fetch_add(1, std::memory_order_relaxed) + 1;  // a count; orders nothing
  one.stage.store(Stage::begun, std::memory_order_release);                 // with acquire in describe_waiting()
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

bool PlayThread::may_wait_inside(const Place& place) const {
  // All members come to the same answer: theirs are the same lists of threads and, in `waited_by_all`, one lane each.
  return lane_of(place).operations[place.next].action == Action::collective &&
         !state_.options.has_several_threads(state_.part.schedule.lanes.size()) &&
         state_.part.waited_by_all.contains({place.lane, place.next});
}

void PlayThread::begin_collective(const Place& place, const Operation& operation, Calling calling) {
  const OperationId id = state_.id(place.lane, place.next);
  UnderWay& one = state_.operations[id.value()];
  one.buffer = state_.buffers.take(operation.bytes + operation.bytes_got);
  const auto shares = state_.part.shares.find({place.lane, place.next});
  CollectiveCall call{.what = operation.collective,
                      .communicator = operation.communicator,
                      .root = operation.peer,
                      .given = {one.buffer, operation.bytes},
                      .got = {one.buffer + operation.bytes, operation.bytes_got}};
  if (shares != state_.part.shares.end()) {
    call.shares = shares->second.given;
    call.got_shares = shares->second.got;
  }
  one.number = state_.numbers.fetch_add(1, std::memory_order_relaxed) + 1;  // a count; orders nothing
  one.stage.store(Stage::begun, std::memory_order_release);                 // with acquire in describe_waiting()
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

void PlayThread::watch(OperationId operation, const Operation& what) {
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
    who->hand(operation);
  }
}

void PlayThread::hand(OperationId operation) {
  const std::lock_guard lock{handed_mutex_};
  handed_.push_back(operation);
}

void PlayThread::look() {
  const nanoseconds start = now();
  state_.backend.progress();
  note(function_progress,
       {.what = trace::CallClass::completes,
        .start = start,
        .number = state_.numbers.fetch_add(1, std::memory_order_relaxed) + 1});  // a count; orders nothing
}

void PlayThread::wait(const Place& place, const Operation& operation) {
  waited_.clear();
  for (std::uint32_t i = 0; i < operation.count; ++i) {
    const OperationId id = state_.id(place.lane, lane_of(place).waited[operation.first + i]);
    if (state_.operations[id.value()].stage.load(std::memory_order_relaxed) == Stage::begun) {  // this thread's own
      waited_.push_back(id);
    }
  }
  trace::CallEvent event{.what = trace::CallClass::completes,
                         .start = now(),
                         .number = state_.numbers.fetch_add(1, std::memory_order_relaxed) + 1,  // orders nothing
                         .count = static_cast<std::uint32_t>(waited_.size())};
  if (!state_.options.has_several_threads(state_.part.schedule.lanes.size())) {
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

bool PlayThread::poll(std::size_t tests_max) {
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
             {.what = trace::CallClass::completes,
              .start = start,
              .number = state_.numbers.fetch_add(1, std::memory_order_relaxed) + 1,  // a count; orders nothing
              .count = 1});
    end(id, completed);
    has_ended = true;
    watched_[next_watched_] = watched_.back();
    watched_.pop_back();
  }
  return has_ended;
}

void PlayThread::finish() {
  Backoff backoff{wait_policy, crowding_};
  while (!watched_.empty()) {
    check_stop();
    if (poll(tests_a_look)) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }
}

void PlayThread::end(OperationId operation, nanoseconds completed) {
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
    ++messages_;
    bytes_ += what.bytes;
    state_.pool_of(what).give(one.buffer, what.bytes);
  }
  state_.moved.fetch_add(1, std::memory_order_relaxed);      // a count; orders nothing
  one.stage.store(Stage::ended, std::memory_order_release);  // with acquire in is_over()
}

void PlayThread::verify(const UnderWay& one) {
  const Operation& what = state_.operation(one);
  const auto difference = PayloadPattern{state_.name_of(one)}.find_difference({one.buffer, what.bytes});
  if (difference) {
    const Lane& lane = state_.part.schedule.lanes[one.lane];
    throw Error{ErrorCode::network,
                fmt::format("{}: what came is not what was sent, from byte {} on",
                            describe(what, state_.part.self.value(), lane, one.index),
                            *difference),
                Rank{what.peer}};
  }
}

nanoseconds PlayThread::note(std::size_t function, trace::CallEvent event) {
  if (event.end == nanoseconds::zero()) {
    event.end = now();
  }
  event.function = state_.functions[function];
  samples_[function].push_back(event.end - event.start);
  calling_ += event.end - event.start;
  trace_.call(event);
  return event.end;
}

void PlayThread::add_to(Played& played) const {
  played.computing += computing_;
  played.calling += calling_;
  played.messages += messages_;
  played.bytes += bytes_;
  for (std::size_t i = 0; i < function_count; ++i) {
    if (!samples_[i].empty()) {
      auto& all = played.calls[state_.function_texts[i]];
      all.insert(all.end(), samples_[i].begin(), samples_[i].end());
    }
  }
}

}  // namespace plait::replay::detail
