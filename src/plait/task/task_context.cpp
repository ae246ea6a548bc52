// SPDX-License-Identifier: Apache-2.0
#include "plait/task/task_context.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/task/run/detail/lifecycle.hpp"

namespace plait::task {

using detail::SpawnedNode;

WorkerId TaskContext::worker() const noexcept {
  return worker_.id;
}

BodyUse TaskContext::body_use() const noexcept {
  return worker_.body_use;
}

std::uint32_t TaskContext::idle_workers() const noexcept {
  return lifecycle_.state().sleep.sleeping();
}

/// A task from the worker's pool, with nothing of its earlier life.
SpawnedNode& TaskContext::take(TaskKind kind, const detail::Role& role) {
  SpawnedNode& node = worker_.pool.take();
  node.label = node_.its_label();
  // These share four bytes. Written apart, the second would wait 10 ns for the first to reach the cache.
  node.leads_to_send = node_.leads_to_send;
  node.has_claims = false;
  node.cost_source = detail::CostSource::kind;
  node.last_worker = {};
  node.kind = kind;
  node.role = role;
  node.parent = &node_;
  node.object = 0;
  node.cost_ns = 0;
  return node;
}

void TaskContext::count(SpawnedNode& node) {
  node.weight_ns = node.cost_ns + node_.weight_ns;
  node.epoch = node_.epoch;
  node.unfinished.store(1, std::memory_order_relaxed);       // published by the queue
  node_.unfinished.fetch_add(1, std::memory_order_relaxed);  // the parent itself still counts
  detail::RunShare::count(worker_.share->created);
  if (worker_.trace.is_on()) {
    detail::SchedulerState& state = lifecycle_.state();
    node.number =
        static_cast<std::uint32_t>(state.next_id.fetch_add(1, std::memory_order_relaxed) - worker_.run->first_id);
    node.caused_by = worker_.run->id_of(node_);
    worker_.now = state.recorder.now();
    node.ready = worker_.now;
  }
}

void TaskContext::spawn(Spawn wish) {
  SpawnedNode& node = take(wish.kind, detail::Role::compute);
  node.body = std::move(wish.body);
  node.object = wish.object;
  const bool has_cost = wish.cost != nanoseconds::zero();
  if (has_cost) {
    node.cost_ns = static_cast<float>(wish.cost.count());
    node.cost_source = detail::CostSource::estimate;
  }
  count(node);
  node.has_claims = !wish.resources.empty();
  if (node.has_claims) {
    node.claims = std::make_unique<std::vector<Claim>>(std::move(wish.resources));
  }
  lifecycle_.queues().offer_spawned(worker_, node, node.has_claims || has_cost);
}

SpawnedNode& TaskContext::take_message(TaskKind kind, const detail::Role& role, const comm::Address& address) {
  SpawnedNode& node = take(kind, role);
  node.message = std::make_unique<detail::NodeMessage>(node);
  node.message->address = address;
  count(node);
  return node;
}

void TaskContext::send(TaskKind kind, const Outgoing& message) {
  SpawnedNode& node = take_message(kind, detail::Role::send, message.to);
  node.object = message.object;
  node.message->data = [data = message.data] { return data; };
  lifecycle_.make_ready(worker_, node);
}

void TaskContext::receive(TaskKind kind, Incoming message) {
  SpawnedNode& node = take_message(kind, detail::Role::receive, message.from);
  node.object = message.object;
  node.body = std::move(message.on_arrival);
  node.message->growing = &message.buffer;
  lifecycle_.make_ready(worker_, node);
}

void TaskContext::wait_for(TaskKind kind, comm::Request operation, Body body) {
  SpawnedNode& node = take(kind, detail::Role::wait);
  node.body = std::move(body);
  count(node);
  operation.then([&state = lifecycle_.state(), &node](const comm::Status& status) {
    if (const std::optional<Error> cause = status.error ? state.endpoint.failure() : std::nullopt) {
      state.failure.fail(*cause);  // mostly another rank's, with its sentence
    } else if (status.error) {
      state.failure.fail(Error{*status.error,
                               fmt::format("what task '{}' on rank {} waited for has failed: {}",
                                           state.runs.find(node.epoch).name_of(node),
                                           state.endpoint.self().value(),
                                           to_string(*status.error))});
    }
    state.note(node);
  });
}

void TaskContext::then(Body body) {
  worker_.continuation = std::move(body);
  worker_.continues = true;
}

}  // namespace plait::task
