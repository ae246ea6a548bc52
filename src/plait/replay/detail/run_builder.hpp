// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plait/replay/task_run.hpp"

namespace plait::replay::detail {

/// The last known cause of a node.
struct Cause {
  nanoseconds at{};
  bool is_message = false;
};

/// Collects the nodes of a run and what orders them, in any sequence.
class RunBuilder {
 public:
  static constexpr std::uint32_t none = RunNode::none;

  std::uint32_t add(const RunNode& node) {
    nodes_.push_back(node);
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  [[nodiscard]] RunNode& operator[](std::uint32_t node) noexcept { return nodes_[node]; }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }

  /// Has `later` wait for the end of `earlier`.
  void order(std::uint32_t earlier, std::uint32_t later) {
    edges_.emplace_back(earlier, later);
    nodes_[later].earlier = 1;  // counted at the end
  }
  void spawn(std::uint32_t parent, Spawning spawning) {
    spawnings_.emplace_back(parent, spawning);
    nodes_[spawning.child].earlier = 1;
  }
  /// Whether the node waits for anything.
  [[nodiscard]] bool is_ordered(std::uint32_t node) const noexcept { return nodes_[node].earlier > 0; }
  void claim(std::uint32_t node, NodeClaim claim) { claims_.emplace_back(node, claim); }
  void message(const RunMessage& message) { messages_.push_back(message); }
  [[nodiscard]] std::uint32_t kind(const std::string& name);
  /// A number for a task of a graph, which is the same in all runs.
  [[nodiscard]] std::uint32_t new_identity() noexcept { return identities_++; }
  [[nodiscard]] std::uint32_t resource(std::uint32_t above = none);
  void set_above(std::uint32_t resource, std::uint32_t above) { resource_above_[resource] = above; }

  /// Of each node, what it waits for that ended last in the trace; of a join, what that waits for in turn. Cost: one
  /// pass over all edges.
  [[nodiscard]] std::vector<Cause> last_causes() const;

  /// Once, last. Throws: `Error` with `bad_input` if nodes wait for each other in a cycle.
  [[nodiscard]] TaskRun finish();

 private:
  [[nodiscard]] ListOf<std::uint32_t> later_of() const;
  void weigh(TaskRun& run) const;

  std::vector<RunNode> nodes_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
  std::vector<std::pair<std::uint32_t, Spawning>> spawnings_;
  std::vector<std::pair<std::uint32_t, NodeClaim>> claims_;
  std::vector<RunMessage> messages_;
  std::vector<std::uint32_t> resource_above_;
  std::vector<std::string> kinds_;
  std::uint32_t identities_ = 0;
  std::unordered_map<std::string, std::uint32_t> kind_numbers_;
};

}  // namespace plait::replay::detail
