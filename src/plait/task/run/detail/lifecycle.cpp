// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/lifecycle.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/task/graph.hpp"
#include "plait/task/task_context.hpp"

namespace plait::task::detail {

namespace {

constexpr float cost_smoothing = 0.25F;
constexpr float kind_cost_smoothing = 0.125F;
/// A measurement counts as at most this many times the mean of its kind, or the task's own mean.
constexpr float growth_max = 8;
constexpr std::uint32_t short_tasks_per_measured = 16;

/// Returns whether to measure this execution: of short tasks one in 16, of others and in a trace every one. Reading the
/// clock takes as long as the shortest tasks.
bool must_measure(Worker& worker, Node& node) noexcept {
  worker.suppose_cost(node);
  if (node.cost_ns > 0 && node.cost_ns < short_ns && --worker.until_measured > 0 && !worker.trace.is_on()) {
    return false;
  }
  worker.until_measured = short_tasks_per_measured;
  return true;
}

/// Adds a measurement to the mean of the task and to that of its kind.
void learn(const Worker& worker, Node& node, nanoseconds took) noexcept {
  auto cost = std::max(1.0F, static_cast<float>(took.count()));
  const bool is_first = node.cost_source != CostSource::measured;
  if (node.kind.value() < worker.share->kind_cost_ns.size()) {
    float& mean = worker.share->kind_cost_ns[node.kind.value()];
    if (mean > 0) {  // else a descheduled thread would count as a long task for many runs
      cost = std::min(cost, growth_max * std::max(mean, is_first ? 0 : node.cost_ns));
    }
    mean = mean > 0 ? mean + kind_cost_smoothing * (cost - mean) : cost;
  }
  node.cost_ns = is_first ? cost : node.cost_ns + cost_smoothing * (cost - node.cost_ns);
  node.cost_source = CostSource::measured;
}

void record(const Worker& worker, const Node& node, trace::TaskRole role, std::uint64_t object, nanoseconds start) {
  worker.trace.task({.kind = worker.run->trace_name_of(node),
                     .role = role,
                     .object = object,
                     .ready = node.ready,
                     .start = start,
                     .end = worker.now,
                     .id = worker.run->id_of(node),
                     .released_by = node.caused_by,
                     .step = worker.run->step,
                     .place = node.place()});
}

/// Sends of equal data that are one multicast. Deletes itself when all are released.
class JoinedSends final : public comm::Completion {
 public:
  explicit JoinedSends(std::span<NodeMessage* const> sends)
      : sends_{sends.begin(), sends.end()}, numbers_(sends.size()) {}

  /// The numbers of the messages are noted here: this must live until they are sent.
  [[nodiscard]] std::vector<comm::Destination> destinations() {
    std::vector<comm::Destination> to;
    for (std::size_t index = 0; index < sends_.size(); ++index) {
      to.push_back({.rank = sends_[index]->address.rank, .sequence = &numbers_[index]});
    }
    return to;
  }

  void completed(const comm::Status& status) noexcept override {
    for (std::size_t index = 0; index < sends_.size(); ++index) {
      comm::Status its_status = status;
      its_status.sequence = numbers_[index];
      sends_[index]->completed(its_status);
    }
  }
  void released(const comm::Status& status) noexcept override {
    for (NodeMessage* const send : sends_) {
      send->released(status);
    }
    delete this;
  }

 private:
  std::vector<NodeMessage*> sends_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace

/// Hands tasks of no graph over to the worker that has ended another.
struct Lifecycle::Sink final : ReadySink {
  Sink(Lifecycle& its_lifecycle, Worker& its_worker, const Node& ended)
      : lifecycle{its_lifecycle}, worker{its_worker}, cause{worker.run->id_of(ended)}, epoch{worker.epoch} {}
  void ready(Node& node) override {
    node.caused_by = cause;
    lifecycle.make_ready(worker, node);
  }
  void again(Node& node) override {
    node.unfinished.store(1, std::memory_order_relaxed);  // published by the queue
    node.epoch = epoch;
    RunShare::count(worker.share->created);
    lifecycle.make_ready(worker, node);
  }

  Lifecycle& lifecycle;
  Worker& worker;
  std::uint64_t cause;
  std::uint32_t epoch;
};

void Lifecycle::execute(Worker& worker, Node& node) {
  state_.enter(worker, node.epoch);
  const bool is_measured = must_measure(worker, node);
  if (is_measured && !worker.is_now_fresh) {
    worker.now = state_.recorder.now();
  }
  const nanoseconds start = worker.now;
  worker.running.store(node.epoch, std::memory_order_relaxed);  // a hint for watch()
  node.continues = false;
  try {
    TaskContext context{*this, worker, node};
    node.body(context);
  } catch (...) {
    state_.failure.fail(current_error(
        fmt::format("task '{}' on rank {} threw", worker.run->name_of(node), state_.endpoint.self().value())));
  }
  worker.running.store(0, std::memory_order_relaxed);
  worker.is_now_fresh = is_measured;
  if (is_measured) {
    worker.now = state_.recorder.now();
    learn(worker, node, worker.now - start);
    if (worker.trace.is_on()) {
      record(worker, node, trace::TaskRole::compute, node.object, start);
    }
  }
  node.last_worker = worker.id;
  if (node.has_claims) {
    unlock_all(*node.claims);
    if (state_.has_several_workers()) {
      state_.sleep.wake_one();  // what has waited for them may run now
    }
  }
  if (std::exchange(worker.continues, false)) {
    go_on(worker, node);
  }
  finish(worker, node);
}

/// The rest of the task is what its body has given to `TaskContext::then`.
void Lifecycle::go_on(Worker& worker, Node& node) {
  if (!node.is_spawned && !node.has_first_body) {
    node.first_body = std::make_unique<Body>(std::move(node.body));
    node.has_first_body = true;
    if (node.is_of_graph) {
      node.owner->has_gone_on_.store(true, std::memory_order_relaxed);  // read when the run is over
    }
  }
  node.body = std::move(worker.continuation);
  node.continues = true;
}

void Lifecycle::finish(Worker& worker, Node& first) {
  if (std::exchange(worker.is_finishing, true)) {
    worker.finishing.push_back(&first);
    return;
  }
  Node* node = &first;
  while (node != nullptr) {
    node = count_off(worker, *node);
    if (node == nullptr && !worker.finishing.empty()) {
      node = worker.finishing.back();
      worker.finishing.pop_back();
    }
  }
  worker.is_finishing = false;
  if (!worker.sends.empty()) {
    post_sends(worker);
  }
}

/// Returns the parent of a task that has come to its end with all that it has spawned.
Node* Lifecycle::count_off(Worker& worker, Node& node) {
  state_.enter(worker, node.epoch);
  // Acquires what the children wrote, or releases what this task wrote to the last of them. Who finds the count at one
  // is the last: no other thread changes it.
  if (node.unfinished.load(std::memory_order_acquire) != 1 &&
      node.unfinished.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return nullptr;
  }
  if (node.continues) {
    node.unfinished.store(1, std::memory_order_relaxed);  // published by the queue, or not at all
    queues_.offer(worker, node);
    return nullptr;
  }
  node.unfinished.store(0, std::memory_order_relaxed);  // a hint for describe_waiting()
  if (node.has_first_body) {
    node.body = std::move(*node.first_body);
    node.first_body.reset();
    node.has_first_body = false;
  }
  if (!node.is_of_graph && !node.is_spawned) {
    Sink sink{*this, worker, node};
    node.ending->ended(node, sink);  // which may end its life
    RunShare::count(worker.share->ended);
    return nullptr;
  }
  release_successors(worker, node);
  Node* parent = nullptr;
  if (node.is_spawned) {
    parent = node.parent;
    give_back(worker, static_cast<SpawnedNode&>(node));
  }
  RunShare::count(worker.share->ended);
  return parent;
}

/// To the pool that it is from.
void Lifecycle::give_back(Worker& worker, SpawnedNode& node) noexcept {
  node.body.reset();
  if (node.role != Role::compute) {
    node.message.reset();
  }
  if (node.home == worker.id.value()) {
    worker.pool.put(node);
  } else {
    state_.workers[node.home]->pool.give_back(node);
  }
}

void Lifecycle::release_successors(Worker& worker, Node& node) {
  for (std::uint32_t i = 0; i < node.successor_count; ++i) {
    Node& successor = *node.successors[i];
    if (!worker.run->are_all_active && successor.epoch != worker.epoch) {
      continue;
    }
    // Acquires what all predecessors wrote for the worker that runs the successor. Who finds the count at one is the
    // last.
    if (successor.waits.load(std::memory_order_acquire) == 1 ||
        successor.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      successor.waits.store(is_ready, std::memory_order_relaxed);
      if (worker.trace.is_on()) {
        // A join leaves no record: what comes after it was made ready by what the join waited for last.
        successor.caused_by = node.role->leaves_record ? worker.run->id_of(node) : node.caused_by;
      }
      make_ready(worker, successor);
    }
  }
}

void Lifecycle::make_ready(Worker& worker, Node& node) {
  if (worker.trace.is_on()) {
    node.ready = worker.now;
  }
  if (node.role == Role::compute) {  // most, and no call
    queues_.offer(worker, node);
  } else {
    node.role->ready(*this, worker, node);
  }
}

void Lifecycle::execute_body_or_finish(Worker& worker, Node& node) {
  if (node.body) {
    queues_.offer(worker, node);
  } else {
    finish(worker, node);
  }
}

void Lifecycle::finish_noted(Worker& worker) {
  Node* node = state_.noted.take_all();
  if (node == nullptr) {
    return;
  }
  worker.now = state_.recorder.now();
  worker.is_now_fresh = true;
  while (node != nullptr) {
    Node* const next = node->next;
    state_.enter(worker, node->epoch);
    if (node->is_starting) {
      node->is_starting = false;
      make_ready(worker, *node);
    } else {
      node->role->noted(*this, worker, *node);
    }
    node = next;
  }
  post_sends(worker);
}

// ---- messages ----

void Lifecycle::post_receive(const Worker& worker, Node& node) noexcept {
  NodeMessage& message = *node.message;
  message.posted = worker.now;
  message.scheduler = &state_;
  try {
    if (message.growing != nullptr) {
      (void)state_.endpoint.receive(message.address, *message.growing, &message);
    } else {
      (void)state_.endpoint.receive(message.address, message.buffer, &message);
    }
  } catch (const Error& error) {
    state_.failure.fail(error);
  }
}

void Lifecycle::post_sends(Worker& worker) {
  if (worker.sends.empty()) {
    return;
  }
  for (NodeMessage* const message : worker.sends) {
    message->scheduler = &state_;
    message->posted = worker.now;
    message->outgoing = message->data();
  }
  if (worker.sends.size() == 1) {  // the common case needs no lists
    NodeMessage* const only = worker.sends.front();
    worker.sends.clear();
    post(std::array{only});
    return;
  }
  using What = std::tuple<const std::byte*, std::size_t, Tag, comm::CommId>;
  std::vector<std::vector<NodeMessage*>> groups;
  std::map<What, std::size_t> known;
  for (NodeMessage* const message : worker.sends) {
    const What what{message->outgoing.data(), message->outgoing.size(), message->address.tag, message->address.comm};
    const auto [entry, is_new] = known.try_emplace(what, groups.size());
    // A rank that is to get the same twice gets two messages.
    if (is_new || std::ranges::any_of(groups[entry->second], [&](const NodeMessage* other) {
          return other->address.rank == message->address.rank;
        })) {
      entry->second = groups.size();
      groups.emplace_back();
    }
    groups[entry->second].push_back(message);
  }
  worker.sends.clear();
  for (const std::vector<NodeMessage*>& same : groups) {
    post(same);
  }
}

void Lifecycle::post(std::span<NodeMessage* const> same) {
  NodeMessage& first = *same.front();
  try {
    if (same.size() == 1) {
      (void)state_.endpoint.send(first.address, first.outgoing, {.completion = &first});
      return;
    }
    auto joined = std::make_unique<JoinedSends>(same);
    (void)state_.endpoint.multicast(
        joined->destinations(), first.address.tag, first.outgoing, {.completion = joined.get()}, first.address.comm);
    (void)joined.release();  // ends itself
  } catch (const Error& error) {
    state_.failure.fail(error);
  }
}

void Lifecycle::check_message(const Worker& worker, const Node& node) noexcept {
  const NodeMessage& message = *node.message;
  if (worker.trace.is_on()) {
    const Rank peer = node.role == Role::send ? message.address.rank : message.status.source;
    record(worker, node, node.role->in_trace, trace::message_object(peer, message.status.sequence), message.posted);
  }
  if (message.status.error) {
    state_.failure.fail(
        Error{*message.status.error,
              fmt::format("task '{}' on rank {} received {} bytes from rank {} with tag {}, more than its buffer of {}",
                          worker.run->name_of(node),
                          state_.endpoint.self().value(),
                          message.status.bytes,
                          message.status.source.value(),
                          message.status.tag.value(),
                          message.buffer.size()),
              message.status.source});
  }
}

}  // namespace plait::task::detail
