// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/message_tasks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "plait/task/run/detail/costs.hpp"

namespace plait::task::detail {

namespace {

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

void MessageTasks::post_receive(const Worker& worker, Node& node) noexcept {
  NodeMessage& message = *node.message;
  message.posted = worker.now;
  message.scheduler = &state_;
  try {
    if (message.layout) {
      (void)state_.endpoint.receive(message.address, message.layout(), &message);
    } else if (message.growing != nullptr) {
      (void)state_.endpoint.receive(message.address, *message.growing, &message);
    } else {
      (void)state_.endpoint.receive(message.address, message.buffer, &message);
    }
  } catch (const Error& error) {
    state_.failure.fail(error);
  }
}

void MessageTasks::post_sends(Worker& worker) {
  if (worker.sends.empty()) {
    return;
  }
  for (NodeMessage* const message : worker.sends) {
    message->scheduler = &state_;
    message->posted = worker.now;
    if (message->layout) {
      post_layout(*message);
    } else {
      message->outgoing = message->data();
    }
  }
  std::erase_if(worker.sends, [](const NodeMessage* message) { return bool{message->layout}; });
  if (worker.sends.empty()) {
    return;
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

void MessageTasks::post_layout(NodeMessage& message) {
  try {
    (void)state_.endpoint.send(message.address, message.layout(), {.completion = &message});
  } catch (const Error& error) {
    state_.failure.fail(error);
  }
}

void MessageTasks::post(std::span<NodeMessage* const> same) {
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

void MessageTasks::check(const Worker& worker, const Node& node) noexcept {
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
                          message.layout ? message.layout().size() : message.buffer.size()),
              message.status.source});
  }
}

}  // namespace plait::task::detail
