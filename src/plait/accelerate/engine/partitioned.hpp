// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

namespace plait::accelerate {

/// Numbers the partitioned operations of one rank in one communicator. Two match if their numbers are equal, as MPI
/// matches them in the order in which they were made, whenever they are started. Threads: any.
class PartitionedNumbers {
 public:
  /// Of the next operation to or from `peer` with this tag.
  [[nodiscard]] std::uint32_t next(bool is_send, int peer, int tag) {
    const std::lock_guard lock{mutex_};
    return numbers_[{is_send, peer, tag}]++;
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<bool, int, int>, std::uint32_t> numbers_;
};

}  // namespace plait::accelerate
