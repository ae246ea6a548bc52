// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/from_tasks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "plait/replay/detail/matched_messages.hpp"
#include "plait/replay/detail/stream_builder.hpp"

namespace plait::replay::detail {
namespace {

bool is_message(const RunNode& node) {
  return node.role == NodeRole::send || node.role == NodeRole::receive;
}

/// Of each node, the sends and receives that it waits for, by way of joins.
std::vector<std::vector<std::uint32_t>> messages_before(const TaskRun& run) {
  std::vector<std::vector<std::uint32_t>> before(run.nodes.size());
  std::vector<std::uint32_t> ways;
  std::vector<std::uint32_t> seen_for(run.nodes.size(), RunNode::none);
  for (std::uint32_t node = 0; node < run.nodes.size(); ++node) {
    if (!is_message(run.nodes[node])) {
      continue;
    }
    ways.assign(1, node);
    while (!ways.empty()) {
      const std::uint32_t from = ways.back();
      ways.pop_back();
      for (const std::uint32_t later : run.later.of(from)) {
        if (std::exchange(seen_for[later], node) == node) {
          continue;
        }
        if (run.nodes[later].role == NodeRole::join) {
          ways.push_back(later);
        } else {
          before[later].push_back(node);
        }
      }
    }
  }
  return before;
}

/// The operations of all ranks.
class TaskStreams {
 public:
  explicit TaskStreams(const TaskRun& run) : run_{run}, before_{messages_before(run)}, operations_(run.nodes.size()) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> numbers;
    for (const RunMessage& message : run.messages) {
      tags_.push_back(numbers[{run.nodes[message.send].rank, run.nodes[message.receive].rank}]++);
    }
  }

  [[nodiscard]] Schedule schedule() {
    std::vector<std::vector<std::uint32_t>> of_rank(run_.ranks);
    for (std::uint32_t node = 0; node < run_.nodes.size(); ++node) {
      if (run_.nodes[node].role != NodeRole::join) {
        of_rank[run_.nodes[node].rank].push_back(node);
      }
    }
    Schedule schedule;
    schedule.length = run_.length;
    for (std::vector<std::uint32_t>& nodes : of_rank) {
      std::ranges::stable_sort(nodes, {}, [this](std::uint32_t node) { return run_.nodes[node].start; });
      Stream& stream = schedule.ranks.emplace_back().streams.emplace_back();
      stream.name = "tasks";
      write(nodes, stream);
    }
    return schedule;
  }

 private:
  void write(const std::vector<std::uint32_t>& nodes, Stream& stream) {
    StreamBuilder builder{stream};
    std::set<std::uint32_t> waited;
    nanoseconds end{};
    for (const std::uint32_t place : nodes) {
      const RunNode& node = run_.nodes[place];
      std::vector<std::uint32_t> open;
      for (const std::uint32_t message : before_[place]) {
        if (waited.insert(message).second) {
          open.insert(open.end(), operations_[message].begin(), operations_[message].end());
        }
      }
      if (!open.empty()) {
        builder.wait(open, node.start, {}, node.step);
      }
      if (is_message(node)) {
        begin(place, builder);
      } else {
        builder.compute(node.start, node.took + node.before + node.lag, node.step);
      }
      end = std::max(end, node.end);
    }
    builder.wait_for_the_rest(end, nodes.empty() ? 0 : run_.nodes[nodes.back()].step);
  }

  void begin(std::uint32_t place, StreamBuilder& builder) {
    const RunNode& node = run_.nodes[place];
    const auto add = [&](std::uint32_t number) {
      const RunMessage& message = run_.messages[number];
      const bool is_send = node.role == NodeRole::send;
      operations_[place].push_back(builder.begin({.action = is_send ? Action::send : Action::receive,
                                                  .step = node.step,
                                                  .peer = run_.nodes[is_send ? message.receive : message.send].rank,
                                                  .tag = tags_[number],
                                                  .bytes = message.bytes,
                                                  .at = node.start,
                                                  .took = std::max(nanoseconds{}, node.end - node.start)}));
    };
    if (node.role == NodeRole::send) {
      std::ranges::for_each(run_.sent.of(place), add);
    } else if (run_.received[place] != RunNode::none) {
      add(run_.received[place]);
    }
  }

  const TaskRun& run_;
  std::vector<std::vector<std::uint32_t>> before_;
  std::vector<std::vector<std::uint32_t>> operations_;  ///< Of each node, in the stream of its rank.
  std::vector<std::uint64_t> tags_;                     ///< Of each message.
};

}  // namespace

bool has_ordered_tasks(const trace::RunTrace& run) {
  return !run.ranks.empty() && std::ranges::all_of(run.ranks, [](const trace::RankTrace& rank) {
    std::set<std::uint32_t> threads;
    for (const auto& [thread, task] : rank.tasks) {
      threads.insert(thread);
    }
    return threads.size() == 1;
  });
}

Schedule schedule_from_tasks(const trace::RunTrace& run, StepRange steps) {
  const TaskRun tasks = tasks_of_run(run, steps).value();
  Schedule schedule = TaskStreams{tasks}.schedule();
  schedule.notices = match_messages(run, [](std::uint32_t, std::size_t) { return true; }).notices;
  return schedule;
}

}  // namespace plait::replay::detail
