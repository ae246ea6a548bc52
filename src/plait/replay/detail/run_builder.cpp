// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/run_builder.hpp"

#include <algorithm>
#include <span>

namespace plait::replay::detail {
namespace {

/// The entries of `pairs` as lists of `count` nodes; entries of one node keep their order.
template <class Entry>
ListOf<Entry> listed(const std::vector<std::pair<std::uint32_t, Entry>>& pairs, std::size_t count) {
  ListOf<Entry> list;
  list.first.assign(count + 1, 0);
  for (const auto& [node, entry] : pairs) {
    ++list.first[node + 1];
  }
  for (std::size_t node = 0; node < count; ++node) {
    list.first[node + 1] += list.first[node];
  }
  list.entries.resize(pairs.size());
  std::vector<std::uint32_t> next{list.first.begin(), list.first.end() - 1};
  for (const auto& [node, entry] : pairs) {
    list.entries[next[node]++] = entry;
  }
  return list;
}

/// Kahn's algorithm; spawned tasks come after those that spawn them. What is on a cycle or behind one is missing.
std::vector<std::uint32_t> in_order(const ListOf<std::uint32_t>& later,
                                    const ListOf<Spawning>& spawns,
                                    const std::vector<RunMessage>& messages,
                                    std::size_t count) {
  std::vector<std::uint32_t> waits(count, 0);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (const RunMessage& message : messages) {
    ends.emplace_back(message.send, message.receive);
  }
  const ListOf<std::uint32_t> across = listed(ends, count);
  const auto for_each_later = [&](std::uint32_t node, const auto& visit) {
    std::ranges::for_each(later.of(node), visit);
    std::ranges::for_each(across.of(node), visit);
    for (const Spawning& spawning : spawns.of(node)) {
      visit(spawning.child);
    }
  };
  for (std::uint32_t node = 0; node < count; ++node) {
    for_each_later(node, [&](std::uint32_t to) { ++waits[to]; });
  }
  std::vector<std::uint32_t> order;
  order.reserve(count);
  for (std::uint32_t node = 0; node < count; ++node) {
    if (waits[node] == 0) {
      order.push_back(node);
    }
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for_each_later(order[next], [&](std::uint32_t to) {
      if (--waits[to] == 0) {
        order.push_back(to);
      }
    });
  }
  return order;
}

/// Weighs the tasks that a task spawns. Those with a cost are in the queue of its worker, the more costly first; the
/// others run newest first. The trace has no costs, but the order of those that ran on that worker.
void weigh_spawned(TaskRun& run, std::uint32_t parent) {
  const auto children = run.spawns.of(parent);
  const RunNode& above = run.nodes[parent];
  std::vector<std::uint32_t> by_start;
  for (const Spawning& spawning : children) {
    RunNode& child = run.nodes[spawning.child];
    child.weight_ns = above.weight_ns + static_cast<float>(child.took.count());
    child.leads_to_send = above.leads_to_send;
    if (child.role == NodeRole::task && child.worker == above.worker) {
      by_start.push_back(spawning.child);
    }
  }
  std::ranges::stable_sort(by_start, {}, [&](std::uint32_t child) { return run.nodes[child].start; });
  std::unordered_map<std::uint32_t, nanoseconds> ready;
  for (const Spawning& spawning : children) {
    ready[spawning.child] = above.start + spawning.after;
  }
  bool has_costs = false;
  for (std::size_t i = by_start.size(); i-- > 1;) {
    const std::uint32_t next = by_start[i];
    RunNode& node = run.nodes[by_start[i - 1]];
    if (ready[next] <= node.start) {  // it could have run before
      has_costs = has_costs || ready[next] > ready[by_start[i - 1]];
      node.weight_ns = std::max(node.weight_ns, run.nodes[next].weight_ns);
    }
  }
  for (const Spawning& spawning : children) {
    run.nodes[spawning.child].is_spawned = !has_costs;
  }
}

}  // namespace

std::uint32_t RunBuilder::kind(const std::string& name) {
  const auto [known, is_new] = kind_numbers_.try_emplace(name, static_cast<std::uint32_t>(kinds_.size()));
  if (is_new) {
    kinds_.push_back(name);
  }
  return known->second;
}

std::uint32_t RunBuilder::resource(std::uint32_t above) {
  resource_above_.push_back(above);
  return static_cast<std::uint32_t>(resource_above_.size() - 1);
}

ListOf<std::uint32_t> RunBuilder::later_of() const {
  return listed(edges_, nodes_.size());
}

std::vector<Cause> RunBuilder::last_causes() const {
  const ListOf<std::uint32_t> later = later_of();
  const ListOf<Spawning> spawns = listed(spawnings_, nodes_.size());
  std::vector<Cause> last(nodes_.size());
  const auto raise = [&](std::uint32_t node, const Cause& cause) {
    if (cause.at >= last[node].at) {
      last[node] = cause;
    }
  };
  for (const std::uint32_t place : in_order(later, spawns, {}, nodes_.size())) {
    const RunNode& node = nodes_[place];
    const bool is_message = node.role == NodeRole::send || node.role == NodeRole::receive;
    const Cause own = node.role == NodeRole::join ? last[place] : Cause{node.end, is_message};
    for (const std::uint32_t to : later.of(place)) {
      raise(to, own);
    }
    for (const Spawning& spawning : spawns.of(place)) {
      raise(spawning.child, {node.start + spawning.after, false});
    }
  }
  return last;
}

/// As the scheduler does: tasks of a graph by the longest path to its end, with the mean cost of each.
void RunBuilder::weigh(TaskRun& run) const {
  std::unordered_map<std::uint32_t, std::pair<double, double>> sums;
  for (const RunNode& node : run.nodes) {
    if (node.identity != none) {
      auto& [sum, count] = sums[node.identity];
      sum += static_cast<double>(node.took.count());
      count += 1;
    }
  }
  const std::vector<std::uint32_t> order = in_order(run.later, run.spawns, run.messages, run.nodes.size());
  if (order.size() < run.nodes.size()) {
    throw Error{ErrorCode::bad_input,
                "the tasks of this run seem to wait for each other in a cycle: its clocks or its records are damaged; "
                "try `plait doctor`"};
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    RunNode& node = run.nodes[order[i]];
    if (node.identity == none) {
      continue;
    }
    float longest = 0;
    node.leads_to_send = node.role == NodeRole::send;
    for (const std::uint32_t later : run.later.of(order[i])) {
      const RunNode& after = run.nodes[later];
      if (after.rank == node.rank && after.step == node.step && after.identity != none) {
        longest = std::max(longest, after.weight_ns);
        node.leads_to_send = node.leads_to_send || after.leads_to_send;
      }
    }
    const auto& [sum, count] = sums[node.identity];
    node.weight_ns = longest + (node.role == NodeRole::task ? static_cast<float>(sum / count) : 0);
  }
  for (const std::uint32_t place : order) {
    weigh_spawned(run, place);
    RunNode& node = run.nodes[place];
    if (node.identity == none && node.continues != none) {
      node.weight_ns = run.nodes[node.continues].weight_ns;
      node.leads_to_send = run.nodes[node.continues].leads_to_send;
    }
  }
}

TaskRun RunBuilder::finish() {
  TaskRun run;
  std::ranges::sort(edges_);
  edges_.erase(std::ranges::unique(edges_).begin(), edges_.end());
  run.later = later_of();
  run.spawns = listed(spawnings_, nodes_.size());
  run.claims = listed(claims_, nodes_.size());
  for (RunNode& node : nodes_) {
    node.earlier = 0;
  }
  for (const auto& [earlier, later] : edges_) {
    ++nodes_[later].earlier;
  }
  for (const auto& [parent, spawning] : spawnings_) {
    ++nodes_[spawning.child].earlier;
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sent;
  run.received.assign(nodes_.size(), none);
  for (std::uint32_t i = 0; i < messages_.size(); ++i) {
    sent.emplace_back(messages_[i].send, i);
    run.received[messages_[i].receive] = i;
  }
  run.sent = listed(sent, nodes_.size());
  run.nodes = std::move(nodes_);
  run.messages = std::move(messages_);
  run.resource_above = std::move(resource_above_);
  run.kinds = std::move(kinds_);
  run.identities = identities_;
  weigh(run);
  return run;
}

}  // namespace plait::replay::detail
