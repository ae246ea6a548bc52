// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "plait/task/graph.hpp"
#include "plait/task/time_line.hpp"

namespace plait::task {

/// Assigns each object, numbered from 0, to the bin of its time step. Finds the active objects in time proportional to
/// their number.
///
/// At each time that `next_time` returns, every active object begins a new step with `start`. Objects may be copies of
/// those of another rank, which sends their bins. Threads: one at a time.
class TimeBins {
 public:
  using Object = std::uint32_t;

  /// The current step of an object. After `shorten`, its length may differ from that of the bin's steps.
  struct Step {
    Ticks begin = 0;
    Ticks end = 0;
    TimeBin bin;
  };

  /// Puts all objects into the longest bin; at time 0 all are active.
  explicit TimeBins(std::size_t object_count);

  [[nodiscard]] std::size_t object_count() const noexcept { return steps_.size(); }
  [[nodiscard]] const Step& step_of(Object object) const { return steps_.at(object).step; }
  [[nodiscard]] TimeBin bin_of(Object object) const { return step_of(object).bin; }

  /// Calls `use` for each active object. `use` must not move objects.
  template <class Use>
  void for_each_active(Ticks now, Use use) const {
    for (std::uint64_t left = active_bins(now); left != 0; left &= left - 1) {
      for (const Object object : objects_[static_cast<std::size_t>(std::countr_zero(left))]) {
        use(object);
      }
    }
  }
  /// Returns a copy of the list, for loops that move objects.
  [[nodiscard]] std::vector<Object> active(Ticks now) const;
  [[nodiscard]] std::size_t active_count(Ticks now) const;

  /// Returns the next time after `now` at which an object is active; without objects, the end of the line. Cost: O(1).
  [[nodiscard]] Ticks next_time(Ticks now) const;

  /// Begins the next step of the object, in the longest bin up to `wanted` whose steps begin at `now`. Returns that
  /// bin. Expects: the object is active. Cost: O(1).
  TimeBin start(Object object, TimeBin wanted, Ticks now);

  /// Ends the current step of the object when `wanted` is active next, unless its bin is as short already. Returns
  /// whether the step was shortened. Cost: O(1).
  bool shorten(Object object, TimeBin wanted, Ticks now);

  using Neighbours = std::function<std::span<const Object>(Object)>;
  /// Shortens steps until no two neighbours differ by more than `neighbour_bins_apart_max` bins, starting from
  /// `changed`. Returns the shortened objects, each once. The result does not depend on the order, so that ranks agree.
  /// Expects: neighbours are mutual. Cost: the neighbours of `changed` and of shortened objects.
  std::vector<Object> limit(std::span<const Object> changed, const Neighbours& neighbours, Ticks now);

 private:
  struct Entry {
    Step step;
    std::uint32_t place = 0;  ///< In the list of its bin.
  };

  /// A bit for each bin that is active and has objects.
  [[nodiscard]] std::uint64_t active_bins(Ticks now) const noexcept;
  void move(Object object, TimeBin to);

  std::vector<Entry> steps_;
  std::array<std::vector<Object>, time_bin_count> objects_;
  std::uint64_t occupied_ = 0;  ///< A bit for each bin that has objects.
};

/// Selects the tasks of a graph that take part in a step: those of active objects.
///
/// Threads: one at a time.
class ActiveTasks {
 public:
  explicit ActiveTasks(std::size_t object_count) : of_object_(object_count) {}

  /// Makes `task` active whenever one of `objects` is. Both ranks of a message pass the objects of both sides, so that
  /// they decide alike.
  void add(Task task, std::span<const TimeBins::Object> objects);
  void add(Task task, std::initializer_list<TimeBins::Object> objects) {
    add(task, std::span{objects.begin(), objects.size()});
  }
  /// Makes `task` active in each step.
  void add_always(Task task) { always_.push_back(task); }

  /// Returns the active tasks, for `Scheduler::run`; valid until the next call. Cost: the active objects and their
  /// tasks.
  [[nodiscard]] std::span<const Task> at(const TimeBins& bins, Ticks now);

 private:
  struct Entry {
    Task task;
    std::uint64_t step = 0;  ///< The last in which it was active.
  };

  std::vector<Entry> tasks_;
  std::vector<std::vector<std::uint32_t>> of_object_;
  std::vector<Task> always_;
  std::vector<Task> active_;
  std::uint64_t step_ = 0;
};

}  // namespace plait::task
