// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/detail/engine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/replay/check.hpp"

namespace plait::replay::predicting {
namespace {

constexpr Time open = -1;
constexpr Time awaited = -2;

nanoseconds in_ns(Time time) {
  return nanoseconds{(time + 500) / 1000};
}

/// What is left of `first` when `second` begins, and then `second`.
Disturbance after(const Disturbance& first, const Disturbance& second) {
  const Time end = first.end();
  if (end <= second.at) {
    return second;
  }
  const double part = static_cast<double>(end - second.at) / static_cast<double>(end - first.at);
  const auto left = static_cast<Time>(static_cast<double>(first.taken) * std::min(1.0, part));
  return {.at = second.at, .taken = left + second.taken, .lasts = end - second.at + second.end() - second.at};
}

}  // namespace

Engine::Engine(const Schedule& schedule, const Platform& platform, const PredictOptions& options, std::uint32_t hosts)
    : schedule_{schedule},
      platform_{platform},
      options_{options},
      progress_every_{to_time(platform.progress_every_ns)},
      machine_{platform, static_cast<std::uint32_t>(schedule.ranks.size()), hosts},
      messages_{machine_, options, events_, *this},
      collectives_{schedule, machine_, messages_, events_, *this},
      cores_{machine_},
      ranks_(schedule.ranks.size()) {
  std::size_t operations = 0;
  for (std::uint32_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    ranks_[rank].first_stream = static_cast<std::uint32_t>(streams_.size());
    for (const Stream& stream : schedule.ranks[rank].streams) {
      streams_.push_back({.stream = &stream, .rank = rank, .base = static_cast<std::uint32_t>(operations)});
      operations += stream.operations.size();
    }
  }
  if (operations >= helper_bit) {
    throw Error{ErrorCode::bad_input,
                fmt::format("{} operations are too many: predict fewer steps at a time", operations)};
  }
  done_.assign(operations, open);
  if (std::ranges::any_of(streams_, [](const StreamState& stream) { return !stream.stream->others.empty(); })) {
    passing_.at.assign(operations, open);
  }
  times_.resize(options.keeps_times ? operations : 0);
  stolen_.resize(options.computing == ComputingTimes::with_network ? operations : 0);
}

Prediction Engine::run() {
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
    events_.push({0, EventKind::stream, stream});
  }
  while (!events_.is_empty()) {
    const Event event = events_.pop();
    now_ = event.at;
    handle(event);
    if (events_.next_time() != now_) {
      messages_.network().end_instant(now_);
    }
  }
  for (const StreamState& stream : streams_) {
    if (stream.phase != Phase::ended) {
      throw Error{ErrorCode::bad_input, why_stuck()};
    }
  }
  return result();
}

void Engine::handle(const Event& event) {
  switch (event.kind()) {
    case EventKind::arrival:
    case EventKind::port:
    case EventKind::flow:
      messages_.network().handle(event);
      break;
    case EventKind::request:
      progress(messages_.table()[event.id()].destination, EventKind::request, event.id(), event.at);
      break;
    case EventKind::answer:
      progress(messages_.table()[event.id()].source, EventKind::answer, event.id(), event.at);
      break;
    case EventKind::tick:
      drain(event.id(), event.at);
      break;
    case EventKind::helper:
      if (collectives_.is_sending(event.id())) {
        collectives_.run(event.id(), event.at);
      } else {
        progress(collectives_.rank_of(event.id()), EventKind::helper, event.id(), event.at);
      }
      break;
    case EventKind::stream:
      run_stream(event.id());
      break;
    case EventKind::release:
    case EventKind::worker:
      break;  // of tasks
  }
}

// --- streams ----------------------------------------------------------------------------------------

void Engine::run_stream(std::uint32_t index) {
  StreamState& stream = streams_[index];
  if (!has_core(stream, index)) {
    return;
  }
  if (stream.phase == Phase::waiting) {
    end_wait(stream);
  } else if (stream.phase == Phase::following) {
    --ranks_[stream.rank].waiting;
    stream.phase = Phase::acting;
  }
  const std::size_t count = stream.stream->operations.size();
  while (stream.next < count) {
    if (!act(stream, index)) {
      return;
    }
  }
  if (cores_.are_shared() && must_give_way(index, stream.now)) {
    return;
  }
  stream.phase = Phase::ended;
  give_back_core(stream, index);
}

bool Engine::must_give_way(std::uint32_t stream, Time until) {
  if (until > now_ && events_.next_time() > now_) {
    messages_.network().end_instant(now_);  // what it still has to signal may come before
  }
  if (events_.next_time() >= until) {
    now_ = until;
    return false;
  }
  events_.push({until, EventKind::stream, stream});
  return true;
}

bool Engine::act(StreamState& stream, std::uint32_t index) {
  const Operation& operation = stream.stream->operations[stream.next];
  const std::uint32_t number = stream.base + stream.next;
  if (options_.keeps_times && stream.phase == Phase::acting) {
    times_[number].posted = in_ns(stream.now);
  }
  switch (operation.action) {
    case Action::compute:
      if (!compute(stream, index, operation)) {
        return false;
      }
      break;
    case Action::poll:
      if (platform_.progress != ProgressModel::ideal) {
        if (must_give_way(index, stream.now)) {
          return false;
        }
        drain(stream.rank, stream.now);
      }
      break;
    case Action::send: {
      const MatchKey key = key_of(stream, operation);
      if (stream.phase == Phase::acting) {
        stream.now += machine_.costs(stream.rank, operation.peer).sending(operation.bytes);
        stream.phase = Phase::sending;
      }
      if (must_give_way(index, stream.now)) {
        messages_.prefetch(key);
        return false;
      }
      stream.phase = Phase::acting;
      messages_.send(number, key, operation.bytes, stream.now);
      break;
    }
    case Action::receive:
      if (machine_.search_each > 0 && must_give_way(index, stream.now)) {  // the queues must be those of that time
        return false;
      }
      stream.now += messages_.receive(number, key_of(stream, operation), operation.bytes, stream.now) +
                    machine_.costs(stream.rank, operation.peer).post_overhead;
      break;
    case Action::collective:
      if (must_give_way(index, stream.now)) {
        return false;
      }
      collectives_.begin(*stream.stream, operation, number, stream.rank, stream.now);
      break;
    case Action::wait:
      if (must_give_way(index, stream.now)) {
        return false;
      }
      begin_wait(stream, index, operation);
      if (stream.phase == Phase::waiting) {
        return false;
      }
      break;
    case Action::after:
      if (must_give_way(index, stream.now) || !follow(stream, index, operation)) {
        return false;
      }
      break;
  }
  pass(stream);
  return true;
}

void Engine::pass(StreamState& stream) {
  if (!passing_.at.empty()) {
    const std::uint32_t number = stream.base + stream.next;
    passing_.at[number] = stream.now;
    const auto [first, last] = passing_.followers.equal_range(number);
    std::for_each(first, last, [&](const auto& one) { events_.push({stream.now, EventKind::stream, one.second}); });
    passing_.followers.erase(first, last);
  }
  ++stream.next;
}

bool Engine::follow(StreamState& stream, std::uint32_t index, const Operation& operation) {
  RankState& rank = ranks_[stream.rank];
  for (std::uint32_t i = 0; i < operation.count; ++i) {
    const StreamPoint& point = stream.stream->others[operation.first + i];
    const std::uint32_t number = streams_[rank.first_stream + point.stream].base + point.operation;
    if (passing_.at[number] == open) {
      passing_.followers.emplace(number, index);
      stream.phase = Phase::following;
      ++rank.waiting;
      if (!rank.pending.empty()) {
        drain(stream.rank, stream.now);
      }
      give_back_core(stream, index);
      return false;
    }
    const Time before = std::exchange(stream.now, std::max(stream.now, passing_.at[number]));
    stream.wait += stream.now - before;
  }
  return true;
}

void Engine::begin_wait(StreamState& stream, std::uint32_t index, const Operation& operation) {
  stream.since = stream.now;
  stream.remaining = 0;
  stream.phase = Phase::waiting;
  RankState& rank = ranks_[stream.rank];
  ++rank.waiting;
  if (!rank.pending.empty()) {
    drain(stream.rank, stream.now);
  }
  ahead_.clear();
  for (std::uint32_t i = 0; i < operation.count; ++i) {
    const std::uint32_t place = stream.stream->waited[operation.first + i];
    const Operation& waited = stream.stream->operations[place];
    Time& done = done_[stream.base + place];
    const Time cost =
        waited.action == Action::receive ? machine_.costs(stream.rank, waited.peer).receiving(waited.bytes) : Time{0};
    if (done < 0) {
      done = awaited;
      ++stream.remaining;
    } else if (done <= stream.since) {
      stream.now += cost;
    } else {
      ahead_.emplace_back(done, cost);
    }
  }
  std::ranges::sort(ahead_);
  for (const auto& [at, cost] : ahead_) {
    stream.now = std::max(stream.now, at) + cost;
  }
  const bool has_all_times = stream.remaining == 0;
  if (!has_all_times || !ahead_.empty()) {
    give_back_core(stream, index);
  }
  if (has_all_times && !must_give_way(index, stream.now) && has_core(stream, index)) {
    end_wait(stream);
    --stream.next;  // as the caller goes to the next
  }
}

void Engine::end_wait(StreamState& stream) {
  --ranks_[stream.rank].waiting;
  stream.phase = Phase::acting;
  stream.wait += stream.now - stream.since;
  if (options_.keeps_times) {
    const Operation& operation = stream.stream->operations[stream.next];
    times_[stream.base + stream.next].notified = in_ns(stream.now);
    for (std::uint32_t i = 0; i < operation.count; ++i) {
      times_[stream.base + stream.stream->waited[operation.first + i]].notified = in_ns(stream.now);
    }
  }
  pass(stream);
}

MatchKey Engine::key_of(const StreamState& stream, const Operation& operation) const noexcept {
  const bool sends = operation.action == Action::send;
  return {.source = sends ? stream.rank : operation.peer,
          .destination = sends ? operation.peer : stream.rank,
          .communicator = operation.communicator,
          .tag = operation.tag};
}

void Engine::has_left(std::uint32_t send, Time at) {
  if (options_.keeps_times && (send & helper_bit) == 0) {
    times_[send].moved = in_ns(at);
  }
}

void Engine::matched(const Message& message, Time now) {
  if (!options_.keeps_times || (message.send & helper_bit) != 0) {
    return;
  }
  times_[message.send].partner = message.receive;
  times_[message.receive].partner = message.send;
  times_[message.receive].handed = in_ns(now);
}

void Engine::complete(std::uint32_t operation, Time at, Time cost) {
  if ((operation & helper_bit) != 0) {
    collectives_.complete(operation & ~helper_bit, at, cost);
    return;
  }
  if (options_.keeps_times) {
    OperationTimes& times = times_[operation];
    times.moved = times.moved == OperationTimes::unknown ? in_ns(at) : times.moved;
  }
  if (std::exchange(done_[operation], at) != awaited) {
    return;
  }
  StreamState& stream = *(std::ranges::upper_bound(streams_, operation, {}, &StreamState::base) - 1);
  stream.now = std::max(stream.now, at) + cost;
  if (--stream.remaining == 0) {
    events_.push({stream.now, EventKind::stream, static_cast<std::uint32_t>(&stream - streams_.data())});
  }
}

// --- processors -----------------------------------------------------------------------------------

bool Engine::compute(StreamState& stream, std::uint32_t index, const Operation& operation) {
  if (stream.phase == Phase::acting) {
    const auto took = static_cast<Time>(static_cast<double>(operation.took.count()) * 1000 * options_.compute_factor);
    stream.compute += took;
    stream.computed = stream.base + stream.next;
    stream.left = took;
    stream.phase = Phase::computing;
    delay(stream, taken_of(stream.disturbance, stream.now, took));
  }
  while (true) {
    if (std::exchange(stream.phase, Phase::computing) == Phase::sliced) {
      give_back_core(stream, index);
      if (!has_core(stream, index)) {
        return false;
      }
    }
    if (!cores_.are_shared() || stream.left <= machine_.core_slice) {
      break;
    }
    stream.now += machine_.core_slice;
    stream.left -= machine_.core_slice;
    stream.phase = Phase::sliced;
    if (must_give_way(index, stream.now)) {
      return false;
    }
  }
  stream.now += std::exchange(stream.left, 0);
  stream.phase = Phase::acting;
  return true;
}

void Engine::delay(StreamState& stream, Time taken) {
  if (options_.computing == ComputingTimes::with_network) {
    stolen_[stream.computed] += in_ns(taken);
  } else {
    const bool is_computing = stream.phase == Phase::computing || stream.phase == Phase::sliced;
    (is_computing ? stream.left : stream.now) += taken;
  }
}

bool Engine::has_core(StreamState& stream, std::uint32_t index) {
  if (!cores_.are_shared() || stream.has_core) {
    return true;
  }
  stream.has_core = cores_.take(machine_.host(stream.rank), index);
  return stream.has_core;
}

void Engine::give_back_core(StreamState& stream, std::uint32_t index) {
  if (!cores_.are_shared()) {
    return;
  }
  const std::uint32_t host = machine_.host(stream.rank);
  stream.has_core = false;
  if (const std::uint32_t next = cores_.give_back(host, index); next != none) {
    streams_[next].has_core = true;
    streams_[next].now = std::max(streams_[next].now, now_);
    events_.push({now_, EventKind::stream, next});
  }
  const std::uint32_t first = host * machine_.ranks_per_host;
  for (std::uint32_t rank = first; rank < std::min(first + machine_.ranks_per_host, machine_.ranks); ++rank) {
    if (ranks_[rank].waiting > 0 && !ranks_[rank].pending.empty()) {
      drain(rank, now_);
    }
  }
}

void Engine::disturb(std::uint32_t rank, const Disturbance& by) {
  StreamState* const stream = by.taken > 0 ? disturbed(rank, by) : nullptr;
  if (stream == nullptr) {
    return;
  }
  const Time rest = is_idle(*stream) ? 0 : stream->now + stream->left - by.at;
  if (rest > 0) {
    delay(*stream, taken_of(by, by.at, rest));
  }
  stream->disturbance = after(stream->disturbance, by);
}

Engine::StreamState* Engine::disturbed(std::uint32_t rank, const Disturbance& by) {
  const auto is_disturbed = [&by](const StreamState& stream) { return !is_idle(stream) && stream.now >= by.at; };
  if (cores_.are_shared()) {
    for (const std::uint32_t holder : cores_.holders(machine_.host(rank))) {
      if (is_disturbed(streams_[holder])) {
        return &streams_[holder];
      }
    }
  }
  const std::uint32_t first = ranks_[rank].first_stream;
  for (std::uint32_t i = first; i < streams_.size() && streams_[i].rank == rank; ++i) {
    if (is_disturbed(streams_[i])) {
      return &streams_[i];
    }
  }
  return first < streams_.size() && streams_[first].rank == rank ? &streams_[first] : nullptr;
}

Time Engine::taken_of(const Disturbance& by, Time begin, Time took) const noexcept {
  const Time end = by.end();
  if (by.taken == 0 || end <= begin) {
    return 0;
  }
  const double rate = static_cast<double>(by.taken) / static_cast<double>(end - by.at);
  const double left = rate * static_cast<double>(end - std::max(begin, by.at));
  const double meanwhile = static_cast<double>(took) * rate;
  if (options_.computing == ComputingTimes::with_network) {
    return static_cast<Time>(std::min(left, meanwhile));
  }
  return static_cast<Time>(std::min(left, meanwhile / (1 - rate)));
}

// --- progress -------------------------------------------------------------------------------------

void Engine::progress(std::uint32_t rank, EventKind kind, std::uint32_t id, Time now) {
  RankState& state = ranks_[rank];
  if (platform_.progress == ProgressModel::ideal || is_polling(rank)) {
    progress_now(kind, id, now);
    return;
  }
  if (state.pending.empty() && platform_.progress == ProgressModel::background) {
    events_.push({(now + progress_every_ - 1) / progress_every_ * progress_every_, EventKind::tick, rank});
  }
  state.pending.push_back({kind, id});
}

bool Engine::is_polling(std::uint32_t rank) const noexcept {
  return ranks_[rank].waiting > 0 && (!cores_.are_shared() || cores_.is_one_free(machine_.host(rank)));
}

void Engine::progress_now(EventKind kind, std::uint32_t id, Time now) {
  if (kind == EventKind::helper) {
    collectives_.run(id, now);
  } else {
    messages_.progress(kind, id, now);
  }
}

void Engine::drain(std::uint32_t rank, Time now) {
  const std::vector<Pending> pending = std::exchange(ranks_[rank].pending, {});
  for (const Pending& one : pending) {
    progress_now(one.kind, one.id, now);
  }
}

// --- results --------------------------------------------------------------------------------------

Prediction Engine::result() {
  Prediction prediction;
  prediction.messages = messages_.message_count();
  prediction.bytes = messages_.byte_count();
  prediction.ranks.resize(ranks_.size());
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    prediction.ranks[rank].unexpected = messages_.unexpected_of(rank);
  }
  for (const StreamState& stream : streams_) {
    RankTimes& times = prediction.ranks[stream.rank];
    times.end = std::max(times.end, in_ns(stream.now));
    times.compute += in_ns(stream.compute);
    times.wait += in_ns(stream.wait);
    prediction.total = std::max(prediction.total, times.end);
  }
  prediction.times = std::move(times_);
  prediction.stolen = std::move(stolen_);
  prediction.memory_bytes = messages_.table().bytes() + messages_.network().bytes() + done_.capacity() * sizeof(Time);
  if (!messages_.table().is_matched()) {
    prediction.notices = find_trouble(schedule_);
  }
  return prediction;
}

std::string Engine::why_stuck() const {
  if (const std::vector<std::string> trouble = find_trouble(schedule_); !trouble.empty()) {
    return fmt::format("the exchange cannot finish: {}", fmt::join(trouble, "; "));
  }
  // Only sends that wait for their receives are left.
  for (const StreamState& stream : streams_) {
    if (stream.phase != Phase::waiting) {
      continue;
    }
    const Operation& wait = stream.stream->operations[stream.next];
    for (std::uint32_t i = 0; i < wait.count; ++i) {
      const std::uint32_t place = stream.stream->waited[wait.first + i];
      if (done_[stream.base + place] < 0) {
        return fmt::format(
            "the exchange cannot finish: {}, and waits for its end, as its other end does; with a larger "
            "\"eager_bytes_max\" sends need not wait for their receives",
            describe(stream.stream->operations[place], stream.rank, *stream.stream, place));
      }
    }
  }
  return "the exchange cannot finish: a rank waits for an operation that it has not posted";
}

}  // namespace plait::replay::predicting
