// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/run_messages.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "plait/replay/detail/places.hpp"

namespace plait::replay::detail {
namespace {

using trace::MessageDirection;
using trace::MessageEvent;

constexpr std::uint32_t runtime_communicator = 0xffff'fff0;

/// One end of a message, by what both ends agree on.
struct End {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t communicator = 0;
  std::uint32_t sequence = 0;
  std::uint32_t rank = 0;
  const trace::Recorded<MessageEvent>* message = nullptr;

  [[nodiscard]] auto key() const { return std::tuple{source, destination, communicator, sequence}; }
};

std::vector<End> ends_of(const trace::RunTrace& run, MessageDirection direction) {
  std::vector<End> ends;
  for (const trace::RankTrace& trace : run.ranks) {
    const std::uint32_t rank = trace.rank.value();
    for (const auto& message : trace.messages) {
      const MessageEvent& event = message.event;
      const bool is_of_call = event.is_matched_by_order;  // numbered apart from those of tasks
      if (event.direction == direction && event.communicator < runtime_communicator && !event.is_unfinished &&
          !is_of_call) {
        const std::uint32_t peer = event.peer.value();
        const bool is_sent = direction == MessageDirection::sent;
        ends.push_back(
            {is_sent ? rank : peer, is_sent ? peer : rank, event.communicator, event.sequence, rank, &message});
      }
    }
  }
  std::ranges::sort(ends, {}, &End::key);
  return ends;
}

/// Finds the nodes of one rank's message ends.
class EndNodes {
 public:
  EndNodes(RunBuilder& builder, const RankTasks& tasks) : builder_{builder}, tasks_{tasks} {
    assign_tasks();
    for (const FlowMessage& message : tasks.flow_messages()) {
      of_flow_[{message.communicator, message.tag, message.is_send}].push_back(message.node);
    }
  }

  /// The node of an end; of a loose one, a new node. `none` outside of the time of the tasks.
  [[nodiscard]] std::uint32_t node_of(const End& end) {
    const MessageEvent& event = end.message->event;
    const bool is_send = event.direction == MessageDirection::sent;
    const nanoseconds posted = tasks_.since_origin(event.posted);
    const nanoseconds completed = tasks_.since_origin(event.completed);
    if (const auto task = of_task_.find(end.message); task != of_task_.end()) {
      return task->second;
    }
    const auto flow = of_flow_.find({event.communicator, event.tag.value(), is_send});
    if (flow != of_flow_.end()) {
      // The last that was submitted before, as the value of a version may be sent again.
      const auto after = std::ranges::upper_bound(
          flow->second, posted, {}, [this](std::uint32_t node) { return builder_[node].start; });
      const std::uint32_t node = after == flow->second.begin() ? flow->second.front() : *(after - 1);
      if (is_send || received_.insert(node).second) {
        builder_[node].end = std::max(builder_[node].end, completed);
        return node;
      }
    }
    return loose_node(end, posted, completed);
  }

  std::vector<LooseEnd> loose;

 private:
  /// Finds the message of each task that sends or receives. Messages of two communicators may have one number: of
  /// those, each task has the one that it has posted last before, and each message one task.
  void assign_tasks() {
    struct Pair {
      nanoseconds apart;
      const Execution* task;
      const trace::Recorded<MessageEvent>* message;
    };
    std::map<std::pair<std::uint64_t, bool>, std::vector<const Execution*>> of_object;
    for (const Execution& one : tasks_.executions()) {
      if (one.event->role == trace::TaskRole::send || one.event->role == trace::TaskRole::receive) {
        of_object[{one.event->object, one.event->role == trace::TaskRole::send}].push_back(&one);
      }
    }
    std::vector<Pair> pairs;
    for (const auto& message : tasks_.trace().messages) {
      const MessageEvent& event = message.event;
      const bool is_send = event.direction == MessageDirection::sent;
      const auto tasks = of_object.find({trace::message_object(event.peer, event.sequence), is_send});
      if (event.communicator >= runtime_communicator || event.is_unfinished || event.is_matched_by_order ||
          tasks == of_object.end()) {
        continue;
      }
      for (const Execution* const task : tasks->second) {
        if (task->event->start <= event.posted && event.completed <= task->event->end) {
          pairs.push_back({event.posted - task->event->start, task, &message});
        }
      }
    }
    std::ranges::stable_sort(pairs, {}, &Pair::apart);
    std::unordered_set<const Execution*> has_message;
    for (const Pair& pair : pairs) {
      if (!has_message.contains(pair.task) && of_task_.try_emplace(pair.message, pair.task->node).second) {
        has_message.insert(pair.task);
      }
    }
  }

  std::uint32_t loose_node(const End& end, nanoseconds posted, nanoseconds completed) {
    const std::vector<Execution>& executions = tasks_.executions();
    if (executions.empty() || completed < executions.front().start || posted > last_end()) {
      return RunNode::none;
    }
    const MessageEvent& event = end.message->event;
    const bool is_send = event.direction == MessageDirection::sent;
    const std::uint32_t node = builder_.add(
        {.role = is_send ? NodeRole::send : NodeRole::receive, .rank = end.rank, .start = posted, .end = completed});
    loose.push_back({.node = node,
                     .communicator = event.communicator,
                     .thread = end.message->thread,
                     .is_send = is_send,
                     .posted = posted,
                     .arrived = tasks_.since_origin(event.arrived),
                     .completed = completed});
    return node;
  }

  [[nodiscard]] nanoseconds last_end() const {
    nanoseconds last{};
    for (const auto& [number, step] : tasks_.steps()) {
      last = std::max(last, step.end);
    }
    return last;
  }

  RunBuilder& builder_;
  const RankTasks& tasks_;
  std::unordered_set<std::uint32_t> received_;  ///< Receives of flows that have their message.
  std::unordered_map<const trace::Recorded<MessageEvent>*, std::uint32_t> of_task_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, bool>, std::vector<std::uint32_t>> of_flow_;
};

RunMessage message_of(const End& send, const RankTasks& sender, const End& receive, const RankTasks& receiver) {
  const MessageEvent& sent = send.message->event;
  const MessageEvent& received = receive.message->event;
  RunMessage message;
  message.bytes = sent.bytes;
  message.is_eager = sent.protocol != trace::Protocol::rendezvous;
  message.posted = sender.since_origin(sent.posted);
  if (!message.is_eager) {
    message.posted = std::max(message.posted, receiver.since_origin(received.posted));
  }
  message.left = sender.since_origin(sent.arrived);
  message.took = std::max(nanoseconds{1}, receiver.since_origin(received.arrived) - message.posted);
  return message;
}

}  // namespace

std::vector<std::vector<LooseEnd>> add_messages(RunBuilder& builder,
                                                const trace::RunTrace& run,
                                                const std::vector<RankTasks>& ranks) {
  std::vector<EndNodes> nodes;
  nodes.reserve(ranks.size());
  for (const RankTasks& rank : ranks) {
    nodes.emplace_back(builder, rank);
  }
  match_ends(ends_of(run, MessageDirection::sent),
             ends_of(run, MessageDirection::received),
             [&](const End* send, const End* receive) {
               if (send == nullptr || receive == nullptr) {
                 return;
               }
               RunMessage message = message_of(*send, ranks[send->rank], *receive, ranks[receive->rank]);
               message.send = nodes[send->rank].node_of(*send);
               message.receive = nodes[receive->rank].node_of(*receive);
               if (message.send != RunNode::none && message.receive != RunNode::none) {
                 builder.message(message);
               }
             });
  std::vector<std::vector<LooseEnd>> loose;
  for (EndNodes& of_rank : nodes) {
    std::ranges::sort(of_rank.loose, {}, &LooseEnd::posted);
    loose.push_back(std::move(of_rank.loose));
  }
  return loose;
}

}  // namespace plait::replay::detail
