// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/comm/detail/operation.hpp"

namespace plait::comm::detail {

/// The operations that wait for an answer of their peer, by number: sends with a request to send, and gets. Numbers are
/// unique, so that a late answer finds none.
/// Threads: one at a time. Cost: O(1).
class RtsTable {
 public:
  /// Gives `send` a number, also in `Operation::rts`.
  std::uint64_t add(Operation& send) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(sends_.size()));
      sends_.push_back(nullptr);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    sends_[index] = &send;
    send.rts = (++count_ << 32U) | index;
    return send.rts;
  }
  /// The send of that number; null when it has ended.
  [[nodiscard]] Operation* find(std::uint64_t number) const noexcept {
    const auto index = static_cast<std::uint32_t>(number);
    Operation* const send = index < sends_.size() ? sends_[index] : nullptr;
    return send != nullptr && send->rts == number ? send : nullptr;
  }
  /// Expects: `number` has not ended.
  void end(std::uint64_t number) {
    const auto index = static_cast<std::uint32_t>(number);
    sends_[index] = nullptr;
    free_.push_back(index);
  }
  [[nodiscard]] bool is_empty() const noexcept { return free_.size() == sends_.size(); }

  template <class Visit>
  void for_each(Visit visit) const {
    for (Operation* const send : sends_) {
      if (send != nullptr) {
        visit(send);
      }
    }
  }

 private:
  std::vector<Operation*> sends_;  ///< Null = free.
  std::vector<std::uint32_t> free_;
  std::uint64_t count_ = 0;
};

}  // namespace plait::comm::detail
