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

/// Which objects take steps of which length: numbers from 0, each in one bin. Finds those that are active at a time in
/// a time that grows with their number alone.
///
/// At each time that `next_time` names, every active object begins a new step with `start`; between two such times
/// nothing happens. Objects may be copies of another rank's: that rank sends their bins. Threads: one at a time.
class TimeBins {
 public:
  using Object = std::uint32_t;

  /// The step that an object is in. It is shorter than its bin's steps, or longer, when it was shortened under way.
  struct Step {
    Ticks begin = 0;
    Ticks end = 0;
    TimeBin bin;
  };

  /// All objects are in a step of the whole line, which has not begun: at time 0 all are active.
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
  /// A copy of the list, for a loop that moves them.
  [[nodiscard]] std::vector<Object> active(Ticks now) const;
  [[nodiscard]] std::size_t active_count(Ticks now) const;

  /// When any object is active next, after `now`. Without objects: the end of the line. Cost: O(1).
  [[nodiscard]] Ticks next_time(Ticks now) const;

  /// The object's step ends, and its next begins: in the longest bin, up to `wanted`, whose steps begin at `now`.
  /// Returns that bin. Expects: the object is active. Cost: O(1).
  TimeBin start(Object object, TimeBin wanted, Ticks now);

  /// Wakes the object earlier: its present step ends when `wanted` is active next. Nothing when its bin is as short
  /// already. Returns whether it is woken. Cost: O(1).
  bool shorten(Object object, TimeBin wanted, Ticks now);

  using Neighbours = std::function<std::span<const Object>(Object)>;
  /// Shortens steps until no two neighbours are farther apart than `neighbour_bins_apart_max`, where that can have come
  /// from the steps of `changed`; returns whose were shortened, each once. The bins do not depend on the order: what
  /// each rank makes of the same bins is the same. Expects: neighbours are mutual. Cost: the neighbours of `changed`
  /// and of what is shortened.
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

/// Which tasks of a graph take part in a step: those of the objects that are active.
///
/// Threads: one at a time.
class ActiveTasks {
 public:
  explicit ActiveTasks(std::size_t object_count) : of_object_(object_count) {}

  /// `task` is active whenever one of `objects` is. A send or receive task is given the objects on both of its sides,
  /// on both of its ranks: then both decide alike.
  void add(Task task, std::span<const TimeBins::Object> objects);
  void add(Task task, std::initializer_list<TimeBins::Object> objects) {
    add(task, std::span{objects.begin(), objects.size()});
  }
  /// `task` is active in each step.
  void add_always(Task task);

  /// For `Scheduler::run`; valid until the next call. Cost: the active objects and their tasks.
  [[nodiscard]] std::span<const Task> at(const TimeBins& bins, Ticks now);

 private:
  struct Entry {
    Task task;
    std::uint64_t step = 0;  ///< The last in which it was active.
  };

  void activate(Entry& entry);

  std::vector<Entry> tasks_;
  std::vector<std::vector<std::uint32_t>> of_object_;
  std::vector<Task> always_;
  std::vector<Task> active_;
  std::uint64_t step_ = 0;
};

}  // namespace plait::task
