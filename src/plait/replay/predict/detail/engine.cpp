// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/detail/engine.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "plait/replay/predict/detail/flow_network.hpp"
#include "plait/replay/predict/detail/point_network.hpp"
#include "plait/replay/predict/detail/stuck.hpp"

namespace plait::replay::predicting {
namespace {

constexpr Time open = -1;
constexpr Time awaited = -2;
constexpr std::uint32_t helper_bit = 0x8000'0000;  // in numbers of operations: a helper's

nanoseconds in_ns(Time time) {
  return nanoseconds{(time + 500) / 1000};
}

std::uint64_t joined(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32U | low;
}

}  // namespace

Engine::Engine(const Schedule& schedule, const Platform& platform, const PredictOptions& options, std::uint32_t hosts)
    : schedule_{schedule},
      platform_{platform},
      options_{options},
      topology_{platform.topology, platform.between_hosts, hosts},
      placement_{platform.ranks_per_host},
      between_{platform.between_hosts},
      within_{platform.within_host},
      copy_per_byte_{1e12 / platform.copy_bytes_per_s},
      progress_every_{to_time(platform.progress_every_ns)} {
  std::size_t operations = 0;
  for (std::uint32_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    ranks_.push_back({.first_lane = static_cast<std::uint32_t>(lanes_.size()),
                      .lanes = static_cast<std::uint32_t>(schedule.ranks[rank].lanes.size()),
                      .pending = {}});
    for (const Lane& lane : schedule.ranks[rank].lanes) {
      lanes_.push_back({.lane = &lane, .rank = rank, .base = static_cast<std::uint32_t>(operations)});
      operations += lane.operations.size();
    }
  }
  if (operations >= helper_bit) {
    throw Error{ErrorCode::bad_input,
                fmt::format("{} operations are too many: predict fewer steps at a time", operations)};
  }
  done_.assign(operations, open);
  times_.resize(options.keeps_times ? operations : 0);
  const NetworkParts parts{platform_,
                           topology_,
                           messages_,
                           events_,
                           *this,
                           static_cast<std::uint32_t>(schedule.ranks.size()),
                           options.tolerance};
  if (options.model == Model::points) {
    network_ = std::make_unique<PointNetwork>(parts);
  } else {
    network_ = std::make_unique<FlowNetwork>(parts);
  }
}

Engine::~Engine() = default;

Prediction Engine::run() {
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    events_.push({0, EventKind::lane, lane});
  }
  while (!events_.is_empty()) {
    const Event event = events_.pop();
    now_ = event.at;
    handle(event);
    if (events_.next_time() != now_) {
      network_->end_instant(now_);
    }
  }
  for (const LaneState& lane : lanes_) {
    if (lane.phase != Phase::ended) {
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
      network_->handle(event);
      break;
    case EventKind::request:
      progress(messages_[event.id()].destination, EventKind::request, event.id(), event.at);
      break;
    case EventKind::answer:
      progress(messages_[event.id()].source, EventKind::answer, event.id(), event.at);
      break;
    case EventKind::tick:
      drain(event.id(), event.at);
      break;
    case EventKind::helper:
      if (helpers_[event.id()].is_sending) {
        run_helper(event.id(), event.at);
      } else {
        progress(helpers_[event.id()].rank, EventKind::helper, event.id(), event.at);
      }
      break;
    case EventKind::lane:
      run_lane(event.id());
      break;
  }
}

// --- lanes ----------------------------------------------------------------------------------------

void Engine::run_lane(std::uint32_t index) {
  LaneState& lane = lanes_[index];
  if (lane.phase == Phase::waiting) {
    end_wait(lane);
  }
  const std::size_t count = lane.lane->operations.size();
  while (lane.next < count) {
    if (!act(lane, index)) {
      return;
    }
  }
  lane.phase = Phase::ended;
}

bool Engine::must_give_way(std::uint32_t lane, Time until) {
  if (until > now_ && events_.next_time() > now_) {
    network_->end_instant(now_);  // what it still has to tell may come before
  }
  if (events_.next_time() >= until) {
    now_ = until;
    return false;
  }
  events_.push({until, EventKind::lane, lane});
  return true;
}

bool Engine::act(LaneState& lane, std::uint32_t index) {
  const Operation& operation = lane.lane->operations[lane.next];
  const std::uint32_t number = lane.base + lane.next;
  if (options_.keeps_times && lane.phase == Phase::acting) {
    times_[number].posted = in_ns(lane.now);
  }
  switch (operation.action) {
    case Action::compute: {
      const auto took = static_cast<Time>(static_cast<double>(operation.took.count()) * 1000 * options_.compute_factor);
      lane.now += took;
      lane.compute += took;
      break;
    }
    case Action::look:
      if (platform_.progress != Progress::ideal) {
        if (must_give_way(index, lane.now)) {
          return false;
        }
        drain(lane.rank, lane.now);
      }
      break;
    case Action::send: {
      const MatchKey key = key_of(lane, operation);
      if (lane.phase == Phase::acting) {
        lane.now += costs(lane.rank, operation.peer).sending(operation.bytes);
        lane.phase = Phase::sending;
        if (must_give_way(index, lane.now)) {
          messages_.prefetch(key);
          return false;
        }
      }
      lane.phase = Phase::acting;
      send(number, key, operation.bytes, lane.now);
      break;
    }
    case Action::receive:
      receive(number, key_of(lane, operation), operation.bytes, lane.now);
      lane.now += costs(lane.rank, operation.peer).post_overhead;
      break;
    case Action::collective:
      if (must_give_way(index, lane.now)) {
        return false;
      }
      begin_collective(lane, operation);
      break;
    case Action::wait:
      if (must_give_way(index, lane.now)) {
        return false;
      }
      begin_wait(lane, index, operation);
      if (lane.phase == Phase::waiting) {
        return false;
      }
      break;
  }
  ++lane.next;
  return true;
}

void Engine::begin_wait(LaneState& lane, std::uint32_t index, const Operation& operation) {
  lane.since = lane.now;
  lane.remaining = 0;
  lane.phase = Phase::waiting;
  RankState& rank = ranks_[lane.rank];
  ++rank.waiting;
  if (!rank.pending.empty()) {
    drain(lane.rank, lane.now);
  }
  ahead_.clear();
  for (std::uint32_t i = 0; i < operation.count; ++i) {
    const std::uint32_t place = lane.lane->waited[operation.first + i];
    const Operation& waited = lane.lane->operations[place];
    Time& done = done_[lane.base + place];
    const Time cost =
        waited.action == Action::receive ? costs(lane.rank, waited.peer).receiving(waited.bytes) : Time{0};
    if (done < 0) {
      done = awaited;
      ++lane.remaining;
    } else if (done <= lane.since) {
      lane.now += cost;
    } else {
      ahead_.emplace_back(done, cost);
    }
  }
  std::ranges::sort(ahead_);
  for (const auto& [at, cost] : ahead_) {
    lane.now = std::max(lane.now, at) + cost;
  }
  if (lane.remaining == 0 && !must_give_way(index, lane.now)) {
    end_wait(lane);
    --lane.next;  // as the caller goes to the next
  }
}

void Engine::end_wait(LaneState& lane) {
  --ranks_[lane.rank].waiting;
  lane.phase = Phase::acting;
  lane.wait += lane.now - lane.since;
  if (options_.keeps_times) {
    const Operation& operation = lane.lane->operations[lane.next];
    times_[lane.base + lane.next].told = in_ns(lane.now);
    for (std::uint32_t i = 0; i < operation.count; ++i) {
      times_[lane.base + lane.lane->waited[operation.first + i]].told = in_ns(lane.now);
    }
  }
  ++lane.next;
}

MatchKey Engine::key_of(const LaneState& lane, const Operation& operation) const noexcept {
  const bool sends = operation.action == Action::send;
  return {.source = sends ? lane.rank : operation.peer,
          .destination = sends ? operation.peer : lane.rank,
          .communicator = operation.communicator,
          .tag = operation.tag};
}

// --- messages -------------------------------------------------------------------------------------

Time Engine::wire_latency(std::uint32_t a, std::uint32_t b) const noexcept {
  return is_within_host(a, b)
             ? within_.latency
             : between_.latency + to_time(topology_.latency_ns(placement_.host(a), placement_.host(b)));
}

void Engine::send(std::uint32_t operation, const MatchKey& key, std::uint64_t bytes, Time now) {
  ++message_count_;
  byte_count_ += bytes;
  std::uint32_t index = messages_.take(key, End::receive);
  if (index == none) {
    index = messages_.insert(key);
    messages_[index].time = now;
  }
  Message& message = messages_[index];
  message.send = operation;
  message.bytes = bytes;
  message.is_within_host = is_within_host(message.source, message.destination);
  const Costs& cost = message.is_within_host ? within_ : between_;
  message.is_eager = cost.is_eager(bytes);
  if (message.receive != none) {
    note_match(message, now);
  }
  if (message.is_eager) {
    complete(operation, now, 0);
    network_->submit(index, now);
  } else {
    events_.push({now + wire_latency(message.source, message.destination), EventKind::request, index});
  }
}

void Engine::receive(std::uint32_t operation, const MatchKey& key, std::uint64_t bytes, Time now) {
  const std::uint32_t index = messages_.take(key, End::send);
  if (index == none) {
    Message& message = messages_[messages_.insert(key)];
    message.receive = operation;
    message.bytes = bytes;
    message.time = now;
    return;
  }
  Message& message = messages_[index];
  message.receive = operation;
  note_match(message, now);
  const Time arrived = std::exchange(message.time, now);
  if (message.stage == Stage::asked) {
    answer(index, now);
  } else if (message.stage == Stage::delivered) {
    delivered(index, arrived);
  }
}

void Engine::answer(std::uint32_t message, Time now) {
  const Message& asked = messages_[message];
  const Costs& cost = asked.is_within_host ? within_ : between_;
  events_.push({now + cost.rendezvous + wire_latency(asked.source, asked.destination), EventKind::answer, message});
}

void Engine::left(std::uint32_t message, Time at) {
  const Message& sent = messages_[message];
  if (options_.keeps_times && (sent.send & helper_bit) == 0) {
    times_[sent.send].moved = in_ns(at);
  }
  if (!sent.is_eager) {
    complete(sent.send, at, 0);
  }
}

void Engine::delivered(std::uint32_t message, Time at) {
  Message& sent = messages_[message];
  sent.stage = Stage::delivered;
  if (sent.receive == none) {
    sent.time = at;
    return;
  }
  if (at < sent.time) {  // before its receive: it was kept, and is copied now
    at = sent.time + (sent.is_eager ? static_cast<Time>(static_cast<double>(sent.bytes) * copy_per_byte_) : 0);
  }
  const std::uint32_t operation = sent.receive;
  const Time cost = (sent.is_within_host ? within_ : between_).receiving(sent.bytes);
  messages_.release(message);
  complete(operation, at, cost);
}

void Engine::note_match(const Message& message, Time now) {
  if (!options_.keeps_times || (message.send & helper_bit) != 0) {
    return;
  }
  times_[message.send].partner = message.receive;
  times_[message.receive].partner = message.send;
  times_[message.receive].handed = in_ns(now);
}

/// `cost`: what it takes the receiver's processor to take it in.
void Engine::complete(std::uint32_t operation, Time at, Time cost) {
  if ((operation & helper_bit) != 0) {
    const std::uint32_t index = operation & ~helper_bit;
    Helper& helper = helpers_[index];
    helper.ready = std::max(helper.ready, at) + cost;
    if (--helper.remaining == 0) {
      events_.push({helper.ready, EventKind::helper, index});
    }
    return;
  }
  if (options_.keeps_times) {
    OperationTimes& times = times_[operation];
    times.moved = times.moved == OperationTimes::unknown ? in_ns(at) : times.moved;
  }
  if (std::exchange(done_[operation], at) != awaited) {
    return;
  }
  std::uint32_t low = 0;
  std::uint32_t high = static_cast<std::uint32_t>(lanes_.size());
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (lanes_[middle].base <= operation ? low : high) = middle;
  }
  LaneState& lane = lanes_[low];
  lane.now = std::max(lane.now, at) + cost;
  if (--lane.remaining == 0) {
    events_.push({lane.now, EventKind::lane, low});
  }
}

// --- progress -------------------------------------------------------------------------------------

void Engine::progress(std::uint32_t rank, EventKind kind, std::uint32_t id, Time now) {
  RankState& state = ranks_[rank];
  if (platform_.progress == Progress::ideal || state.waiting > 0) {
    progress_now(kind, id, now);
    return;
  }
  if (state.pending.empty() && platform_.progress == Progress::background) {
    events_.push({(now + progress_every_ - 1) / progress_every_ * progress_every_, EventKind::tick, rank});
  }
  state.pending.push_back({kind, id});
}

void Engine::progress_now(EventKind kind, std::uint32_t id, Time now) {
  if (kind == EventKind::helper) {
    run_helper(id, now);
  } else if (kind == EventKind::answer) {
    network_->submit(id, now);
  } else if (messages_[id].receive != none) {
    answer(id, std::max(now, messages_[id].time));
  } else {
    messages_[id].stage = Stage::asked;
  }
}

void Engine::drain(std::uint32_t rank, Time now) {
  const std::vector<Pending> pending = std::exchange(ranks_[rank].pending, {});
  for (const Pending& one : pending) {
    progress_now(one.kind, one.id, now);
  }
}

// --- collectives ----------------------------------------------------------------------------------

std::uint32_t Engine::member_of(std::uint32_t communicator, std::uint32_t rank) {
  if (communicator == 0) {
    return rank;
  }
  const auto found = members_.find(joined(communicator, rank));
  if (found != members_.end()) {
    return found->second;
  }
  const auto members = schedule_.communicators.find(communicator);
  if (members != schedule_.communicators.end()) {
    for (std::uint32_t index = 0; index < members->second.size(); ++index) {
      members_[joined(communicator, members->second[index])] = index;
    }
  }
  const auto again = members_.find(joined(communicator, rank));
  if (again == members_.end()) {
    throw Error{
        ErrorCode::bad_input,
        fmt::format("rank {} takes part in a collective of communicator {}, of which it is no known member: the "
                    "log lacks it",
                    rank,
                    communicator)};
  }
  return again->second;
}

void Engine::begin_collective(LaneState& lane, const Operation& operation) {
  const auto known = schedule_.communicators.find(operation.communicator);
  std::span<const std::uint32_t> members;
  if (operation.communicator != 0 && known != schedule_.communicators.end()) {
    members = known->second;
  }
  const std::uint32_t member = member_of(operation.communicator, lane.rank);
  const std::uint32_t root = operation.peer == trace::nothing ? 0 : member_of(operation.communicator, operation.peer);
  const auto count = static_cast<std::uint32_t>(members.empty() ? schedule_.ranks.size() : members.size());
  const bool has_shares = operation.count == count && operation.first + count <= lane.lane->shares.size();
  Helper helper{.rounds = Rounds{{.kind = operation.collective,
                                  .member = member,
                                  .root = root,
                                  .members = count,
                                  .given = operation.bytes,
                                  .got = operation.bytes_got,
                                  .shares = has_shares ? lane.lane->shares.data() + operation.first : nullptr}},
                .members = members,
                .operation = lane.base + lane.next,
                .rank = lane.rank,
                .communicator = operation.communicator,
                .sequence = sequences_[joined(operation.communicator, lane.rank)]++};
  std::uint32_t index = 0;
  if (free_helpers_.empty()) {
    index = static_cast<std::uint32_t>(helpers_.size());
    helpers_.push_back(helper);
  } else {
    index = free_helpers_.back();
    free_helpers_.pop_back();
    helpers_[index] = helper;
  }
  run_helper(index, lane.now);
}

void Engine::run_helper(std::uint32_t index, Time now) {
  if (helpers_[index].is_sending) {
    send_of_round(index, now);
  } else {
    begin_round(index, now);
  }
}

void Engine::begin_round(std::uint32_t index, Time now) {
  Helper& helper = helpers_[index];
  Round round;
  while (true) {
    if (helper.round == helper.rounds.count()) {
      end_collective(index, now);
      return;
    }
    round = helper.rounds.round(helper.round++);
    if (round.to != none || round.from != none) {
      break;
    }
  }
  const auto rank = [&helper](std::uint32_t member) {
    return helper.members.empty() ? member : helper.members[member];
  };
  const std::uint64_t tag = joined(helper.sequence, helper.round);
  // One more than there is, so that nothing completes the round before all of it is begun.
  helper.remaining = 1 + (round.from != none ? 1U : 0U);
  helper.ready = now;
  if (round.from != none) {
    const MatchKey key{rank(round.from), helper.rank, helper.communicator, tag, true};
    receive(index | helper_bit, key, 0, now);
  }
  helper.ready += static_cast<Time>(static_cast<double>(round.added) * copy_per_byte_);
  if (round.to == none) {
    complete(index | helper_bit, now, 0);
    return;
  }
  const Time sent = now + costs(helper.rank, rank(round.to)).sending(round.bytes);
  helper.is_sending = true;
  events_.push({sent, EventKind::helper, index});
}

void Engine::send_of_round(std::uint32_t index, Time now) {
  Helper& helper = helpers_[index];
  const Round round = helper.rounds.round(helper.round - 1);
  const std::uint32_t to = helper.members.empty() ? round.to : helper.members[round.to];
  helper.is_sending = false;
  helper.ready = std::max(helper.ready, now);
  const MatchKey key{helper.rank, to, helper.communicator, joined(helper.sequence, helper.round), true};
  send(index | helper_bit, key, round.bytes, now);
}

void Engine::end_collective(std::uint32_t index, Time now) {
  const std::uint32_t operation = helpers_[index].operation;
  free_helpers_.push_back(index);
  complete(operation, now, 0);
}

// --- results --------------------------------------------------------------------------------------

Prediction Engine::result() {
  Prediction prediction;
  prediction.messages = message_count_;
  prediction.bytes = byte_count_;
  prediction.ranks.resize(ranks_.size());
  for (const LaneState& lane : lanes_) {
    RankTimes& times = prediction.ranks[lane.rank];
    times.end = std::max(times.end, in_ns(lane.now));
    times.compute += in_ns(lane.compute);
    times.wait += in_ns(lane.wait);
    prediction.total = std::max(prediction.total, times.end);
  }
  prediction.times = std::move(times_);
  prediction.memory_bytes = messages_.bytes() + network_->bytes() + done_.capacity() * sizeof(Time);
  prediction.notices = lost_messages(messages_);
  return prediction;
}

std::string Engine::why_stuck() const {
  std::vector<StuckLane> stuck;
  for (const LaneState& lane : lanes_) {
    if (lane.phase != Phase::waiting) {
      continue;
    }
    const Operation& wait = lane.lane->operations[lane.next];
    for (std::uint32_t i = 0; i < wait.count; ++i) {
      const std::uint32_t place = lane.lane->waited[wait.first + i];
      if (done_[lane.base + place] < 0) {
        stuck.push_back({lane.rank, lane.next, lane.lane->operations[place]});
      }
    }
  }
  return explain(schedule_, stuck);
}

}  // namespace plait::replay::predicting
