// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/spawner.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/task/run/detail/lifecycle.hpp"
#include "plait/task/run/detail/names.hpp"
#include "plait/task/run/detail/queues.hpp"

namespace plait::task::detail {

/// A task from the worker's pool, with nothing of its earlier life.
SpawnedNode& Spawner::take(Worker& worker, Node& parent, TaskKind kind, const Role& role) {
  SpawnedNode& node = worker.pool.take();
  node.kind = kind;
  node.role = role;
  node.leads_to_send = parent.leads_to_send;
  node.parent = &parent;
  node.label = parent.its_label();
  node.last_worker = {};
  node.has_claims = false;
  node.object = 0;
  node.cost_ns = 0;
  node.cost_source = CostSource::kind;
  return node;
}

void Spawner::count(Worker& worker, Node& parent, SpawnedNode& node) {
  node.weight_ns = node.cost_ns + parent.weight_ns;
  node.epoch = parent.epoch;
  node.unfinished.store(1, std::memory_order_relaxed);        // published by the queue
  parent.unfinished.fetch_add(1, std::memory_order_relaxed);  // the parent itself still counts
  RunShare::count(worker.share->created);
  if (worker.trace.is_on()) {
    node.number =
        static_cast<std::uint32_t>(state_.next_id.fetch_add(1, std::memory_order_relaxed) - worker.run->first_id);
    node.caused_by = id_of(*worker.run, parent);
    worker.now = state_.recorder.now();
    node.ready = worker.now;
  }
}

void Spawner::spawn(Worker& worker, Node& parent, Spawn&& wish) {
  SpawnedNode& node = take(worker, parent, wish.kind, Role::compute);
  node.body = std::move(wish.body);
  node.object = wish.object;
  const bool has_cost = wish.cost != nanoseconds::zero();
  if (has_cost) {
    node.cost_ns = static_cast<float>(wish.cost.count());
    node.cost_source = CostSource::estimate;
  }
  count(worker, parent, node);
  node.has_claims = !wish.resources.empty();
  if (node.has_claims) {
    node.claims = std::make_unique<std::vector<Claim>>(std::move(wish.resources));
  }
  queues_.offer_spawned(worker, node, node.has_claims || has_cost);
}

SpawnedNode& Spawner::take_message(
    Worker& worker, Node& parent, TaskKind kind, const Role& role, const comm::Address& address) {
  SpawnedNode& node = take(worker, parent, kind, role);
  node.message = std::make_unique<NodeMessage>(node);
  node.message->address = address;
  count(worker, parent, node);
  return node;
}

void Spawner::send(Worker& worker, Node& parent, TaskKind kind, const Outgoing& outgoing) {
  SpawnedNode& node = take_message(worker, parent, kind, Role::send, outgoing.to);
  node.object = outgoing.object;
  node.message->data = [data = outgoing.data] { return data; };
  lifecycle_.make_ready(worker, node);
}

void Spawner::receive(Worker& worker, Node& parent, TaskKind kind, Incoming incoming) {
  SpawnedNode& node = take_message(worker, parent, kind, Role::receive, incoming.from);
  node.object = incoming.object;
  node.body = std::move(incoming.on_arrival);
  node.message->growing = &incoming.buffer;
  lifecycle_.make_ready(worker, node);
}

void Spawner::wait(Worker& worker, Node& parent, TaskKind kind, comm::Request request, Body body) {
  SpawnedNode& node = take(worker, parent, kind, Role::wait);
  node.body = std::move(body);
  count(worker, parent, node);
  request.then([&state = state_, &node](const comm::Status& status) {
    if (status.error) {
      state.failure.fail(Error{*status.error,
                               fmt::format("what task '{}' on rank {} waited for has failed: {}",
                                           name_of(state.runs.find(node.epoch), node),
                                           state.endpoint.self().value(),
                                           to_string(*status.error))});
    }
    state.note(node);
  });
}

}  // namespace plait::task::detail
