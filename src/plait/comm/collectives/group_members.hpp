// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "plait/base/id.hpp"

namespace plait::comm {

/// The ranks of a group, by member. Of ranks at equal distances it stores the first, their number and the distance.
/// Threads: one at a time.
class GroupMembers {
 public:
  GroupMembers() = default;
  /// `count` ranks from `first` on, `stride` apart.
  GroupMembers(std::uint32_t first, std::uint32_t count, std::uint32_t stride)
      : first_{first}, count_{count}, stride_{stride} {}
  /// Cost: linear in the ranks.
  explicit GroupMembers(std::vector<Rank> ranks)
      : GroupMembers{ranks.empty() ? 0 : ranks.front().value(),
                     static_cast<std::uint32_t>(ranks.size()),
                     ranks.size() < 2 ? 1 : ranks[1].value() - ranks[0].value()} {
    for (std::uint32_t member = 0; member < count_; ++member) {
      if (ranks[member] != in_range(member)) {
        listed_ = std::move(ranks);
        return;
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Expects: `member` is below `size()`.
  [[nodiscard]] Rank operator[](std::size_t member) const noexcept {
    return listed_.empty() ? in_range(member) : listed_[member];
  }
  /// Whether the ranks are at equal distances, so that none is stored.
  [[nodiscard]] bool is_range() const noexcept { return listed_.empty(); }

 private:
  /// Modulo 2^32, so that ranks may also descend.
  [[nodiscard]] Rank in_range(std::size_t member) const noexcept {
    return Rank{first_ + static_cast<std::uint32_t>(member) * stride_};
  }

  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t stride_ = 1;
  std::vector<Rank> listed_;  ///< Empty for ranks at equal distances.
};

}  // namespace plait::comm
