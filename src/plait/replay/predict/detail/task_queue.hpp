// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "plait/replay/task_run.hpp"

namespace plait::replay::predicting {

/// The resources that nodes lock and share, in trees: a lock excludes locks and shares of the same resource and of
/// those above and below it, a share excludes locks there. The rules of `task::Resource`.
class ResourceStates {
 public:
  explicit ResourceStates(const std::vector<std::uint32_t>& above) : above_{above}, states_(above.size()) {}

  /// Takes all claims or none.
  [[nodiscard]] bool try_take(std::span<const NodeClaim> claims) {
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (!is_free(claims[i])) {
        give_back(claims.first(i));
        return false;
      }
      change(claims[i], 1);
    }
    return true;
  }
  void give_back(std::span<const NodeClaim> claims) {
    for (const NodeClaim& claim : claims) {
      change(claim, -1);
    }
  }

 private:
  struct State {
    int locks = 0;
    int shares = 0;
    int locks_below = 0;
    int shares_below = 0;
  };

  [[nodiscard]] bool is_free(const NodeClaim& claim) const {
    const State& own = states_[claim.resource];
    if (own.locks > 0 || own.locks_below > 0 || (!claim.is_shared && (own.shares > 0 || own.shares_below > 0))) {
      return false;
    }
    for (std::uint32_t at = above_[claim.resource]; at != RunNode::none; at = above_[at]) {
      if (states_[at].locks > 0 || (!claim.is_shared && states_[at].shares > 0)) {
        return false;
      }
    }
    return true;
  }
  void change(const NodeClaim& claim, int by) {
    (claim.is_shared ? states_[claim.resource].shares : states_[claim.resource].locks) += by;
    for (std::uint32_t at = above_[claim.resource]; at != RunNode::none; at = above_[at]) {
      (claim.is_shared ? states_[at].shares_below : states_[at].locks_below) += by;
    }
  }

  const std::vector<std::uint32_t>& above_;
  std::vector<State> states_;
};

/// A ready task in a queue.
struct ReadyTask {
  std::uint32_t node = RunNode::none;
  std::uint32_t order = 0;  ///< Of equal urgency the first that came.
  float urgency = 0;
  float took_ns = 0;

  [[nodiscard]] friend bool operator<(const ReadyTask& a, const ReadyTask& b) noexcept {
    return a.urgency != b.urgency ? a.urgency < b.urgency : a.order > b.order;
  }
};

/// The ready tasks of one modelled worker: the rules of `task::detail::ReadyQueue`.
class TaskQueue {
 public:
  /// Below this, tasks are taken in batches.
  static constexpr float short_ns = 2'000;
  static constexpr std::size_t batch_max = 16;

  void push(ReadyTask task) {
    task.order = next_order_++;
    work_ns_ += task.took_ns;
    heap_.push_back(task);
    std::push_heap(heap_.begin(), heap_.end());
  }
  [[nodiscard]] bool is_empty() const noexcept { return heap_.empty(); }
  /// Whether its tasks take so long that another worker should take some.
  [[nodiscard]] bool is_worth_stealing() const noexcept { return !heap_.empty() && work_ns_ >= short_ns; }
  [[nodiscard]] float urgency_max() const noexcept { return heap_.empty() ? 0 : heap_.front().urgency; }

  /// Moves to `taken` the most urgent tasks that can lock what they claim: one, or up to `most` while they are short.
  /// The urgency of those that cannot is halved.
  void take(std::size_t most, const TaskRun& run, ResourceStates& resources, std::deque<std::uint32_t>& taken) {
    bool is_short = true;
    std::size_t count = 0;
    while (count < most && is_short && !heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const ReadyTask task = heap_.back();
      heap_.pop_back();
      const auto claims = run.claims.of(task.node);
      if (claims.empty() || resources.try_take(claims)) {
        work_ns_ -= task.took_ns;
        taken.push_back(task.node);
        ++count;
        is_short = claims.empty() && task.took_ns < short_ns;
      } else {
        set_aside_.push_back(task);
      }
    }
    for (ReadyTask& task : set_aside_) {
      task.urgency /= 2;
      heap_.push_back(task);
      std::push_heap(heap_.begin(), heap_.end());
    }
    set_aside_.clear();
  }
  /// As `take`, at most half of the tasks, rounded up.
  void steal(const TaskRun& run, ResourceStates& resources, std::deque<std::uint32_t>& taken) {
    take(std::min(batch_max, (heap_.size() + 1) / 2), run, resources, taken);
  }

 private:
  std::vector<ReadyTask> heap_;
  std::vector<ReadyTask> set_aside_;
  std::uint32_t next_order_ = 0;
  double work_ns_ = 0;
};

}  // namespace plait::replay::predicting
