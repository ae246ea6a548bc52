// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/replay/schedule.hpp"

namespace plait::replay::detail {

/// Appends operations to a stream, and tracks those that have no wait yet.
class StreamBuilder {
 public:
  explicit StreamBuilder(Stream& stream) : stream_{stream}, first_{stream.operations.size()} {}

  /// Returns the number of the operation.
  std::uint32_t add(const Operation& operation) {
    stream_.operations.push_back(operation);
    return static_cast<std::uint32_t>(stream_.operations.size() - 1);
  }

  /// Adds an operation that needs a wait.
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

  void poll(nanoseconds at, std::uint32_t step = 0) { add({.action = Action::poll, .step = step, .at = at}); }

  /// Adds a wait for those of the operations that have none yet; a poll if there are none.
  void wait(std::span<const std::uint32_t> operations, nanoseconds at, nanoseconds took, std::uint32_t step = 0) {
    const auto first = static_cast<std::uint32_t>(stream_.waited.size());
    for (const std::uint32_t operation : operations) {
      const std::size_t place = operation - first_;
      if (place < is_open_.size() && is_open_[place]) {
        is_open_[place] = false;
        stream_.waited.push_back(operation);
      }
    }
    const auto count = static_cast<std::uint32_t>(stream_.waited.size()) - first;
    if (count == 0) {
      poll(at, step);
    } else {
      add({.action = Action::wait, .step = step, .first = first, .count = count, .at = at, .took = took});
    }
  }

  /// Adds a wait for all operations without one, if there are any.
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
  Stream& stream_;
  std::size_t first_;  ///< The first operation of this builder.
  std::vector<bool> is_open_;
};

}  // namespace plait::replay::detail
