// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/detail/task_engine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace plait::replay::predicting {
namespace {

constexpr std::uint32_t no_node = RunNode::none;
/// As in task/run/detail/queues.cpp: shorter tasks are not worth moving back to where they ran last.
constexpr nanoseconds homely{5'000};

nanoseconds rounded(Time time) {
  return nanoseconds{(time + 500) / 1000};
}

Time picoseconds(nanoseconds time, double factor = 1) {
  return static_cast<Time>(static_cast<double>(time.count()) * 1000 * factor);
}

}  // namespace

TaskEngine::TaskEngine(
    const TaskRun& run, const Platform& platform, const TaskOptions& options, std::uint32_t ranks, std::uint32_t hosts)
    : run_{run},
      platform_{platform},
      options_{options},
      workers_each_{options.workers > 0 ? options.workers : run.workers},
      machine_{platform, ranks, hosts},
      protocol_options_{.model = options.model, .tolerance = options.tolerance},
      messages_{machine_, protocol_options_, events_, *this},
      resources_{run.resource_above},
      workers_(std::size_t{ranks} * workers_each_),
      ranks_(ranks),
      waits_(run.nodes.size()),
      messages_left_(run.nodes.size()),
      last_worker_(run.identities, no_node),
      has_arrived_(run.messages.size(), false),
      times_(run.nodes.size()) {
  for (std::uint32_t rank = 0; rank < run.ranks; ++rank) {
    of_rank_.push_back(static_cast<std::uint32_t>(std::uint64_t{rank} * ranks / run.ranks));
  }
  for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) {
    workers_[worker].rank = worker / workers_each_;
    workers_[worker].random = worker % workers_each_ + 1;
  }
  for (std::uint32_t node = 0; node < run.nodes.size(); ++node) {
    waits_[node] = run.nodes[node].earlier;
  }
}

TaskPrediction TaskEngine::predict() {
  for (std::uint32_t node = 0; node < run_.nodes.size(); ++node) {
    if (run_.nodes[node].earlier == 0) {
      events_.push({0, EventKind::release, node});
    }
  }
  while (!events_.is_empty()) {
    const Event event = events_.pop();
    now_ = event.at;
    handle(event);
    if (events_.next_time() != now_) {
      while (!unsettled_.empty()) {
        const std::uint32_t rank = unsettled_.back();
        unsettled_.pop_back();
        settle(rank);
      }
      messages_.network().end_instant(now_);
    }
  }
  if (ended_ < run_.nodes.size()) {
    throw Error{ErrorCode::bad_input,
                fmt::format("{} of {} tasks and messages of the run wait for ever: a message has no counterpart in the "
                            "trace, or a record was lost; try `plait doctor`",
                            run_.nodes.size() - ended_,
                            run_.nodes.size())};
  }
  return result();
}

void TaskEngine::handle(const Event& event) {
  switch (event.kind()) {
    case EventKind::arrival:
    case EventKind::port:
    case EventKind::flow:
      messages_.network().handle(event);
      break;
    case EventKind::request:
      note(messages_.table()[event.id()].destination, EventKind::request, event.id());
      break;
    case EventKind::answer:
      note(messages_.table()[event.id()].source, EventKind::answer, event.id());
      break;
    case EventKind::helper: {
      const RunMessage& message = run_.messages[event.id() / 2];
      note(rank_of(event.id() % 2 == 0 ? message.send : message.receive), EventKind::helper, event.id());
      break;
    }
    case EventKind::release:
      make_ready(event.id(), acting(rank_of(event.id())));
      break;
    case EventKind::stream:  // a task that spawns another is at that point
      release(event.id(), acting(rank_of(event.id())));
      break;
    case EventKind::tick: {
      const std::vector<Noted> noted = std::exchange(ranks_[event.id()].noted, {});
      for (const Noted& one : noted) {
        if (one.kind == EventKind::helper) {
          ranks_[event.id()].noted.push_back(one);
        } else {
          messages_.progress(one.kind, one.id, now_);
        }
      }
      break;
    }
    case EventKind::worker:
      if (const Time stolen = std::exchange(workers_[event.id()].stolen, 0); stolen > 0) {
        events_.push({now_ + stolen, EventKind::worker, event.id()});
      } else {
        end_running(workers_[event.id()]);
      }
      break;
  }
}

// --- nodes ----------------------------------------------------------------------------------------

Time TaskEngine::duration_of(const RunNode& node) const {
  if (node.role == NodeRole::program && node.rank > 0 && of_rank_[node.rank] == of_rank_[node.rank - 1]) {
    return 0;  // all ranks have the same program, which one rank executes once
  }
  const bool has_factor = node.role == NodeRole::task && node.kind < options_.kind_factor.size();
  const double own = node.role == NodeRole::program ? options_.program_factor
                     : has_factor                   ? options_.kind_factor[node.kind]
                                                    : 1;
  return picoseconds(node.took - node.stolen, options_.compute_factor * own);
}

/// One of the nodes that it waits for has ended.
void TaskEngine::release(std::uint32_t node, Worker& worker) {
  if (--waits_[node] > 0) {
    return;
  }
  if (run_.nodes[node].lag > nanoseconds{}) {
    events_.push({now_ + picoseconds(run_.nodes[node].lag), EventKind::release, node});
  } else {
    make_ready(node, worker);
  }
}

void TaskEngine::make_ready(std::uint32_t node, Worker& worker) {
  const RunNode& what = run_.nodes[node];
  RankState& rank = ranks_[worker.rank];
  if (!std::exchange(rank.is_unsettled, true)) {
    unsettled_.push_back(worker.rank);
  }
  switch (what.role) {
    case NodeRole::task:
      if (what.is_spawned) {
        worker.spawned.push_back(node);
      } else {
        offer(worker, node);
      }
      break;
    case NodeRole::program:
      rank.program.push_back(node);
      break;
    case NodeRole::send:
    case NodeRole::receive:
      times_[node].start = rounded(now_);
      post(node, worker);
      break;
    case NodeRole::join:
      times_[node].start = rounded(now_);
      finish(node, worker);
      break;
  }
}

/// Iterative: a long chain of joins may end at once.
void TaskEngine::finish(std::uint32_t node, Worker& worker) {
  finishing_.push_back(node);
  if (std::exchange(is_finishing_, true)) {
    return;
  }
  while (!finishing_.empty()) {
    const std::uint32_t ended = finishing_.back();
    finishing_.pop_back();
    times_[ended].end = rounded(now_);
    last_ = now_;
    ++ended_;
    for (const std::uint32_t later : run_.later.of(ended)) {
      // What follows is of the same modelled rank, but for messages.
      release(later, worker);
    }
  }
  is_finishing_ = false;
}

void TaskEngine::post(std::uint32_t node, Worker& worker) {
  const auto end_here = [&](std::uint32_t operation) { end_message(operation, worker); };
  const auto key_of = [&](std::uint32_t number) {
    const RunMessage& message = run_.messages[number];
    return MatchKey{.source = rank_of(message.send), .destination = rank_of(message.receive), .tag = number};
  };
  if (run_.nodes[node].role == NodeRole::receive) {
    const std::uint32_t number = run_.received[node];
    if (number == no_node) {
      finish(node, worker);
    } else if (const MatchKey key = key_of(number); key.source != key.destination) {
      (void)messages_.receive(2 * number + 1, key, run_.messages[number].bytes, now_);
    } else if (has_arrived_[number]) {
      finish(node, worker);
    } else {
      has_arrived_[number] = true;
    }
    return;
  }
  const auto sent = run_.sent.of(node);
  messages_left_[node] = static_cast<std::uint32_t>(sent.size());
  if (sent.empty()) {
    finish(node, worker);
    return;
  }
  for (const std::uint32_t number : sent) {
    const MatchKey key = key_of(number);
    if (key.source != key.destination) {
      messages_.send(2 * number, key, run_.messages[number].bytes, now_);
      continue;
    }
    if (has_arrived_[number]) {
      end_here(2 * number + 1);
    }
    has_arrived_[number] = true;
    end_here(2 * number);
  }
}

void TaskEngine::end_message(std::uint32_t operation, Worker& worker) {
  const RunMessage& message = run_.messages[operation / 2];
  if (operation % 2 == 1) {
    finish(message.receive, worker);
  } else if (--messages_left_[message.send] == 0) {
    finish(message.send, worker);
  }
}

void TaskEngine::matched(const Message& /*message*/, Time /*now*/) {}
void TaskEngine::has_left(std::uint32_t /*send*/, Time /*at*/) {}

void TaskEngine::complete(std::uint32_t operation, Time at, Time cost) {
  events_.push({std::max(at, now_) + cost, EventKind::helper, operation});
}

/// A thread in the background takes the core of a worker, unless one is idle and does the same at no cost.
void TaskEngine::disturb(std::uint32_t rank, const Disturbance& by) {
  if (by.taken > 0 && !has_idle(rank)) {
    std::ranges::min_element(workers_of(rank), {}, &Worker::stolen)->stolen += by.taken;
  }
}

// --- messages that are complete --------------------------------------------------------------------

void TaskEngine::note(std::uint32_t rank, EventKind kind, std::uint32_t id) {
  RankState& state = ranks_[rank];
  const bool is_protocol = kind != EventKind::helper;
  if (is_protocol && platform_.progress == ProgressModel::ideal) {
    messages_.progress(kind, id, now_);
    return;
  }
  if (is_protocol && platform_.progress == ProgressModel::background) {
    const Time every = std::max<Time>(1, to_time(platform_.progress_every_ns));
    events_.push({(now_ / every + 1) * every, EventKind::tick, rank, id});
  }
  state.noted.push_back({kind, id});
  if (has_idle(rank)) {
    handle_noted(acting(rank));
  }
}

void TaskEngine::handle_noted(Worker& worker) {
  RankState& state = ranks_[worker.rank];
  while (!state.noted.empty()) {
    const std::vector<Noted> noted = std::exchange(state.noted, {});
    for (const Noted& one : noted) {
      if (one.kind == EventKind::helper) {
        end_message(one.id, worker);
      } else {
        messages_.progress(one.kind, one.id, now_);
      }
    }
  }
}

// --- workers --------------------------------------------------------------------------------------

bool TaskEngine::has_idle(std::uint32_t rank) const {
  const auto first = workers_.begin() + static_cast<std::ptrdiff_t>(std::size_t{rank} * workers_each_);
  return std::any_of(first, first + workers_each_, [](const Worker& worker) { return worker.running == no_node; });
}

/// The worker that does what comes from outside: an idle one, else the first.
TaskEngine::Worker& TaskEngine::acting(std::uint32_t rank) {
  const std::span<Worker> workers = workers_of(rank);
  const auto idle = std::ranges::find(workers, no_node, &Worker::running);
  return idle != workers.end() ? *idle : workers.front();
}

ReadyTask TaskEngine::ready_task(std::uint32_t node) const {
  const RunNode& task = run_.nodes[node];
  // As Node::urgency(): tasks that lead to a send come before all others.
  const float urgency = task.leads_to_send ? (task.weight_ns + 1) * 0x1p60F : task.weight_ns;
  return {.node = node, .urgency = urgency, .took_ns = static_cast<float>(duration_of(task)) * 1e-3F};
}

/// As task::detail::Queues::offer().
void TaskEngine::offer(Worker& worker, std::uint32_t node) {
  const RunNode& task = run_.nodes[node];
  const std::uint32_t home = task.identity == no_node ? no_node : last_worker_[task.identity];
  if (home != no_node && task.took >= homely && &workers_[home] != &worker && workers_[home].rank == worker.rank) {
    workers_[home].queue.push(ready_task(node));
    return;
  }
  ReadyTask rest = ready_task(node);
  if (run_.claims.of(node).empty()) {
    if (worker.next == no_node) {
      if (rest.urgency >= worker.queue.urgency_max()) {
        worker.next = node;
        return;
      }
    } else if (const ReadyTask next = ready_task(worker.next); rest.urgency > next.urgency) {
      worker.next = node;
      rest = next;
    }
  }
  worker.queue.push(rest);
}

/// As task::detail::Queues::next().
std::uint32_t TaskEngine::next_of(Worker& worker) {
  if (worker.next != no_node) {
    return std::exchange(worker.next, no_node);
  }
  if (worker.batch.empty()) {
    if (!worker.spawned.empty()) {
      const std::uint32_t newest = worker.spawned.back();
      worker.spawned.pop_back();
      return newest;
    }
    worker.queue.take(TaskQueue::batch_max, run_, resources_, worker.batch);
    if (worker.batch.empty()) {
      if (const std::uint32_t stolen = steal(worker); stolen != no_node) {
        return stolen;
      }
    }
  }
  if (worker.batch.empty()) {
    return no_node;
  }
  const std::uint32_t first = worker.batch.front();
  worker.batch.pop_front();
  return first;
}

/// A spawned task of another worker or, in this worker's batch, others.
std::uint32_t TaskEngine::steal(Worker& worker) {
  const std::span<Worker> workers = workers_of(worker.rank);
  if (workers.size() < 2) {
    return no_node;
  }
  worker.random = worker.random * 1664525U + 1013904223U;  // Numerical Recipes' generator, as the scheduler has it
  const std::size_t first = (worker.random >> 16U) % workers.size();
  for (std::size_t step = 0; step < workers.size(); ++step) {
    Worker& victim = workers[(first + step) % workers.size()];
    if (&victim == &worker) {
      continue;
    }
    if (!victim.spawned.empty()) {
      const std::uint32_t oldest = victim.spawned.front();
      victim.spawned.pop_front();
      ++stolen_;
      return oldest;
    }
    if (victim.queue.is_worth_stealing()) {
      victim.queue.steal(run_, resources_, worker.batch);
      stolen_ += worker.batch.size();
      if (!worker.batch.empty()) {
        return no_node;
      }
    }
  }
  return no_node;
}

void TaskEngine::begin(Worker& worker, std::uint32_t node) {
  const RunNode& what = run_.nodes[node];
  const auto index = static_cast<std::uint32_t>(&worker - workers_.data());
  const Time start = now_ + (what.role == NodeRole::task ? picoseconds(what.before) : 0);
  const Time took = duration_of(what);
  worker.running = node;
  times_[node] = {.start = rounded(start), .worker = index};
  RankState& rank = ranks_[worker.rank];
  (what.role == NodeRole::task ? rank.busy : rank.in_program) += took;
  const double stretch =
      what.took > nanoseconds{} ? static_cast<double>(took) / static_cast<double>(picoseconds(what.took)) : 1;
  for (const Spawning& spawning : run_.spawns.of(node)) {
    events_.push({start + picoseconds(spawning.after, stretch), EventKind::stream, spawning.child});
  }
  events_.push({start + took, EventKind::worker, index});
}

void TaskEngine::end_running(Worker& worker) {
  const std::uint32_t node = std::exchange(worker.running, no_node);
  const RunNode& what = run_.nodes[node];
  if (what.role == NodeRole::task) {
    ++tasks_;
    resources_.give_back(run_.claims.of(node));
    if (what.identity != no_node) {
      last_worker_[what.identity] = static_cast<std::uint32_t>(&worker - workers_.data());
    }
    if (!run_.claims.of(node).empty() && !std::exchange(ranks_[worker.rank].is_unsettled, true)) {
      unsettled_.push_back(worker.rank);  // what has waited for them may run now
    }
  }
  finish(node, worker);
  go_on(worker);
}

/// Begins the next task of an idle worker, if there is one.
void TaskEngine::go_on(Worker& worker) {
  RankState& rank = ranks_[worker.rank];
  handle_noted(worker);
  const bool is_first = &worker == &workers_of(worker.rank).front();
  if (is_first && !rank.program.empty()) {  // worker 0 is the thread of the program
    const std::uint32_t part = rank.program.front();
    rank.program.pop_front();
    begin(worker, part);
    return;
  }
  if (const std::uint32_t node = next_of(worker); node != no_node) {
    begin(worker, node);
  }
}

/// Lets idle workers take what has become ready.
void TaskEngine::settle(std::uint32_t rank) {
  ranks_[rank].is_unsettled = false;
  for (Worker& worker : workers_of(rank)) {
    if (worker.running == no_node) {
      go_on(worker);
    }
  }
}

// --- results --------------------------------------------------------------------------------------

TaskPrediction TaskEngine::result() {
  TaskPrediction prediction;
  prediction.total = rounded(last_);
  prediction.ranks = static_cast<std::uint32_t>(ranks_.size());
  prediction.workers = workers_each_;
  for (const RankState& rank : ranks_) {
    prediction.busy.push_back(rounded(rank.busy));
    prediction.program.push_back(rounded(rank.in_program));
  }
  prediction.tasks = tasks_;
  prediction.stolen = stolen_;
  prediction.messages = messages_.message_count();
  prediction.bytes = messages_.byte_count();
  if (options_.keeps_times) {
    prediction.nodes = std::move(times_);
  }
  return prediction;
}

}  // namespace plait::replay::predicting
