// SPDX-License-Identifier: Apache-2.0
// The messages of send and receive tasks: posted when the task is ready, finished by whichever worker looks first.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "plait/task/detail/joined_sends.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/detail/worker.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task {

using detail::NodeMessage;

void detail::NodeMessage::released(const comm::Status& /*its_status*/) noexcept {
  scheduler->note(node);
}

detail::SpawnedNode& Scheduler::spawn_message(Worker& worker,
                                              Node& parent,
                                              TaskKind kind,
                                              const comm::Address& address) {
  detail::SpawnedNode& node = make_spawned(worker, parent, kind);
  node.cost_ns = 0;
  node.cost_source = detail::CostSource::kind;
  node.message = std::make_unique<NodeMessage>(node);
  node.message->address = address;
  count_spawned(worker, parent, node);
  return node;
}

/// Leaves when the running body has ended, together with others of the same data.
void Scheduler::spawn_send(Worker& worker, Node& parent, TaskKind kind, const Outgoing& outgoing) {
  detail::SpawnedNode& node = spawn_message(worker, parent, kind, outgoing.to);
  node.role = detail::Role::send;
  node.object = outgoing.object;
  node.message->data = [data = outgoing.data] { return data; };
  make_ready(worker, node);
}

void Scheduler::spawn_receive(Worker& worker, Node& parent, TaskKind kind, Incoming incoming) {
  detail::SpawnedNode& node = spawn_message(worker, parent, kind, incoming.from);
  node.role = detail::Role::receive;
  node.object = incoming.object;
  node.body = std::move(incoming.on_arrival);
  node.message->growing = &incoming.buffer;
  make_ready(worker, node);
}

void Scheduler::spawn_wait(Worker& worker, Node& parent, TaskKind kind, comm::Request request, Body body) {
  detail::SpawnedNode& node = make_spawned(worker, parent, kind);
  node.role = detail::Role::wait;
  node.cost_ns = 0;
  node.cost_source = detail::CostSource::kind;
  node.object = 0;
  node.body = std::move(body);
  count_spawned(worker, parent, node);
  request.then([this, &node](const comm::Status& status) {
    if (status.error) {
      fail(Error{*status.error,
                 fmt::format("what task '{}' on rank {} waited for has failed: {}",
                             name_of(node),
                             endpoint_.self().value(),
                             to_string(*status.error))});
    }
    note(node);
  });
}

void Scheduler::post_receive(Worker& worker, Node& node) {
  detail::NodeMessage& message = *node.message;
  message.posted = worker.now;
  message.scheduler = this;
  try {
    if (message.growing != nullptr) {
      (void)endpoint_.receive(message.address, *message.growing, &message);
    } else {
      (void)endpoint_.receive(message.address, message.buffer, &message);
    }
  } catch (const Error& error) {
    fail(error);
  }
}

/// Posts the sends that have become ready together. Those of the same data with the same tag leave as one multicast.
void Scheduler::post_sends(Worker& worker) {
  if (worker.sends.empty()) {
    return;
  }
  for (NodeMessage* const message : worker.sends) {
    message->scheduler = this;
    message->posted = worker.now;
    message->outgoing = message->data();
  }
  if (worker.sends.size() == 1) {  // the common case needs no lists
    NodeMessage* const only = worker.sends.front();
    worker.sends.clear();
    post_send(std::array{only});
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
    post_send(same);
  }
}

void Scheduler::post_send(std::span<NodeMessage* const> same) {
  NodeMessage& first = *same.front();
  try {
    if (same.size() == 1) {
      (void)endpoint_.send(first.address, first.outgoing, {.completion = &first});
      return;
    }
    auto joined = std::make_unique<detail::JoinedSends>(same);
    (void)endpoint_.multicast(
        joined->destinations(), first.address.tag, first.outgoing, {.completion = joined.get()}, first.address.comm);
    (void)joined.release();  // ends itself
  } catch (const Error& error) {
    fail(error);
  }
}

void Scheduler::note(Node& node) noexcept {
  noted_.push(node);
  if (sleeping_.load(std::memory_order_relaxed) > 0) {  // a hint: sleeps are short
    wake_.notify_one();
  }
}

void Scheduler::finish_noted(Worker& worker) {
  Node* node = noted_.take_all();
  if (node == nullptr) {
    return;
  }
  worker.now = recorder_.now();
  worker.is_now_fresh = true;
  while (node != nullptr) {
    Node* const next = node->next;
    if (node->message != nullptr) {
      see_message(worker, *node);
    }
    // An event may have a body too, which is not to be executed.
    if ((node->role == detail::Role::receive || node->role == detail::Role::wait) && node->body) {
      offer(worker, *node);  // what is to be done on arrival
    } else {
      finish(worker, *node);
    }
    node = next;
  }
}

/// Records a message that is complete, and looks whether all is well with it.
void Scheduler::see_message(Worker& worker, const Node& node) {
  const NodeMessage& message = *node.message;
  const bool is_send = node.role == detail::Role::send;
  if (worker.trace.is_on()) {
    const Rank peer = is_send ? message.address.rank : message.status.source;
    worker.trace.task({.kind = trace_name_of(node),
                       .part = is_send ? trace::TaskPart::send : trace::TaskPart::receive,
                       .object = trace::message_object(peer, message.status.sequence),
                       .ready = node.ready,
                       .start = message.posted,
                       .end = worker.now,
                       .task = id_of(node),
                       .caused_by = node.caused_by,
                       .step = epoch_ - 1,
                       .place = node.place()});
  }
  if (message.status.error) {
    fail(
        Error{*message.status.error,
              fmt::format("task '{}' on rank {} received {} bytes from rank {} with tag {}, more than its buffer of {}",
                          name_of(node),
                          endpoint_.self().value(),
                          message.status.bytes,
                          message.status.source.value(),
                          message.status.tag.value(),
                          message.buffer.size()),
              message.status.source});
  }
}

}  // namespace plait::task
