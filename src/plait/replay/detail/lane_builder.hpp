// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/replay/schedule.hpp"

namespace plait::replay::detail {

/// Adds operations to a lane and keeps account of those of its own that nothing has waited for yet.
class LaneBuilder {
 public:
  explicit LaneBuilder(Lane& lane) : lane_{lane}, first_{lane.operations.size()} {}

  /// The number of the operation.
  std::uint32_t add(const Operation& operation) {
    lane_.operations.push_back(operation);
    return static_cast<std::uint32_t>(lane_.operations.size() - 1);
  }

  /// Adds an operation that something must wait for.
  std::uint32_t begin(const Operation& operation) {
    const std::uint32_t number = add(operation);
    is_open_.resize(number + 1 - first_, false);
    is_open_.back() = true;
    return number;
  }

  void compute(nanoseconds at, nanoseconds took, std::uint32_t step = 0) {
    if (took > nanoseconds{}) {
      add({.action = Action::compute, .step = step, .at = at, .took = took});
    }
  }

  void look(nanoseconds at, std::uint32_t step = 0) { add({.action = Action::look, .step = step, .at = at}); }

  /// A wait from `at`, for `took`, for those of the operations that are still open; a look when there are none.
  void wait(std::span<const std::uint32_t> operations, nanoseconds at, nanoseconds took, std::uint32_t step = 0) {
    const auto first = static_cast<std::uint32_t>(lane_.waited.size());
    for (const std::uint32_t operation : operations) {
      const std::size_t place = operation - first_;
      if (place < is_open_.size() && is_open_[place]) {
        is_open_[place] = false;
        lane_.waited.push_back(operation);
      }
    }
    const auto count = static_cast<std::uint32_t>(lane_.waited.size()) - first;
    if (count == 0) {
      look(at, step);
    } else {
      add({.action = Action::wait, .step = step, .first = first, .count = count, .at = at, .took = took});
    }
  }

  /// Waits for all that is still open, if anything is.
  void wait_for_the_rest(nanoseconds at, std::uint32_t step = 0) {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < is_open_.size(); ++i) {
      if (is_open_[i]) {
        open.push_back(static_cast<std::uint32_t>(first_ + i));
      }
    }
    if (!open.empty()) {
      wait(open, at, {}, step);
    }
  }

 private:
  Lane& lane_;
  std::size_t first_;  ///< Operations before these are of others.
  std::vector<bool> is_open_;
};

}  // namespace plait::replay::detail
