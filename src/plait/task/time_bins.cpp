// SPDX-License-Identifier: Apache-2.0
#include "plait/task/time_bins.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "plait/base/error.hpp"

namespace plait::task {

TimeBins::TimeBins(std::size_t object_count) : steps_(object_count) {
  std::vector<Object>& all = objects_[longest_bin.value()];
  for (std::size_t object = 0; object < object_count; ++object) {
    const auto place = static_cast<std::uint32_t>(object);
    steps_[object] = {.step = {.begin = 0, .end = 0, .bin = longest_bin}, .place = place};
    all.push_back(place);
  }
  occupied_ = all.empty() ? 0 : std::uint64_t{1} << longest_bin.value();
}

std::uint64_t TimeBins::active_bins(Ticks now) const noexcept {
  const TimeBin longest = longest_active(now);
  // Bits 0 to `longest`.
  return longest ? occupied_ & ((std::uint64_t{2} << longest.value()) - 1) : 0;
}

std::vector<TimeBins::Object> TimeBins::active(Ticks now) const {
  std::vector<Object> objects;
  objects.reserve(active_count(now));
  for_each_active(now, [&](Object object) { objects.push_back(object); });
  return objects;
}

std::size_t TimeBins::active_count(Ticks now) const {
  std::size_t count = 0;
  for (std::uint64_t left = active_bins(now); left != 0; left &= left - 1) {
    count += objects_[static_cast<std::size_t>(std::countr_zero(left))].size();
  }
  return count;
}

Ticks TimeBins::next_time(Ticks now) const {
  if (occupied_ == 0) {
    return line_ticks;
  }
  return next_active(TimeBin{static_cast<std::uint8_t>(std::countr_zero(occupied_))}, now);
}

TimeBin TimeBins::start(Object object, TimeBin wanted, Ticks now) {
  expect(is_active(bin_of(object), now), "a step begins when the last has ended");
  const TimeBin bin = std::min(wanted, longest_active(now));
  move(object, bin);
  steps_[object].step = {.begin = now, .end = next_active(bin, now), .bin = bin};
  return bin;
}

bool TimeBins::shorten(Object object, TimeBin wanted, Ticks now) {
  if (wanted >= bin_of(object)) {
    return false;
  }
  move(object, wanted);
  steps_[object].step.end = next_active(wanted, now);
  return true;
}

std::vector<TimeBins::Object> TimeBins::limit(std::span<const Object> changed,
                                              const Neighbours& neighbours,
                                              Ticks now) {
  std::vector<Object> shortened;
  std::vector<Object> to_check{changed.begin(), changed.end()};
  const auto limit_one = [&](Object object, Object neighbour) {
    if (shorten(object, limited_by(bin_of(object), bin_of(neighbour)), now)) {
      shortened.push_back(object);
      to_check.push_back(object);
    }
  };
  while (!to_check.empty()) {
    const Object object = to_check.back();
    to_check.pop_back();
    for (const Object neighbour : neighbours(object)) {
      limit_one(object, neighbour);
      limit_one(neighbour, object);
    }
  }
  std::ranges::sort(shortened);
  shortened.erase(std::ranges::unique(shortened).begin(), shortened.end());
  return shortened;
}

/// The last of the list takes the place that is left.
void TimeBins::move(Object object, TimeBin to) {
  Entry& entry = steps_[object];
  if (entry.step.bin == to) {
    return;
  }
  std::vector<Object>& from = objects_[entry.step.bin.value()];
  from[entry.place] = from.back();
  steps_[from.back()].place = entry.place;
  from.pop_back();
  if (from.empty()) {
    occupied_ &= ~(std::uint64_t{1} << entry.step.bin.value());
  }
  std::vector<Object>& list = objects_[to.value()];
  entry.place = static_cast<std::uint32_t>(list.size());
  entry.step.bin = to;
  list.push_back(object);
  occupied_ |= std::uint64_t{1} << to.value();
}

void ActiveTasks::add(Task task, std::span<const TimeBins::Object> objects) {
  const auto index = static_cast<std::uint32_t>(tasks_.size());
  tasks_.push_back({.task = task});
  for (const TimeBins::Object object : objects) {
    of_object_.at(object).push_back(index);
  }
}

std::span<const Task> ActiveTasks::at(const TimeBins& bins, Ticks now) {
  ++step_;
  active_ = always_;
  bins.for_each_active(now, [&](TimeBins::Object object) {
    for (const std::uint32_t index : of_object_.at(object)) {
      if (std::exchange(tasks_[index].step, step_) != step_) {  // once, also for a task of two active objects
        active_.push_back(tasks_[index].task);
      }
    }
  });
  return active_;
}

}  // namespace plait::task
