// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "plait/replay/detail/rank_block.hpp"
#include "plait/replay/grid.hpp"

namespace plait::replay::detail {

/// A step from a rank to another of the larger exchange, as a number.
using StepCode = std::uint32_t;

/// Copies of an exchange, joined at their edges to a larger one of the same pattern.
///
/// Each new rank does what one recorded rank did, its *model*. In a periodic dimension, and in one of two ranks, models
/// repeat. In an open one of three or more, the first and the last recorded rank are models of the ends only; their
/// inner neighbours take their places elsewhere.
///
/// A message goes the step that it went in the record. A step of at most one in each dimension is that of a neighbour,
/// and leads across the edges of copies. Others stay within the copy. In an open dimension of two ranks, a message goes
/// both ways, and not beyond the ends.
class ReplicaLayout {
 public:
  /// `replicas`: by dimension; one number for all-to-all. Expects: `recorded` is the number of ranks of `grid`.
  ReplicaLayout(const RankGrid& grid, std::vector<std::uint32_t> replicas, std::uint32_t recorded);

  [[nodiscard]] std::uint32_t rank_count() const noexcept { return rank_count_; }
  [[nodiscard]] std::uint32_t replica_count() const noexcept { return rank_count_ / recorded_; }
  [[nodiscard]] std::uint32_t model_of(std::uint32_t rank) const { return models_[rank]; }
  /// Whether each copy has a rank for each recorded one.
  [[nodiscard]] bool has_whole_copies() const noexcept { return has_whole_copies_; }
  /// Which copy a rank is in.
  [[nodiscard]] std::uint32_t copy_of(std::uint32_t rank) const;
  /// The rank of a copy that is at the place of a recorded one.
  [[nodiscard]] std::uint32_t rank_in_copy(std::uint32_t copy, std::uint32_t recorded) const;

  /// The steps that the `number`-th of the messages from one recorded rank to another stands for. `side`: in which of
  /// the halves of a dimension's messages it is, if it `alternates`.
  [[nodiscard]] std::vector<StepCode> steps_of(std::uint32_t from, std::uint32_t to, std::uint32_t side);
  /// Whether it is the step of a neighbour, in all dimensions.
  [[nodiscard]] bool is_to_neighbour(StepCode step) const { return steps_[step].is_near; }
  [[nodiscard]] std::size_t step_count() const noexcept { return steps_.size(); }
  /// The ranks to which a step leads from a rank; or from which it leads to it.
  [[nodiscard]] std::vector<std::uint32_t> ends_of(StepCode step, std::uint32_t rank) const;
  [[nodiscard]] std::vector<std::uint32_t> starts_of(StepCode step, std::uint32_t rank) const;

  /// The ranks of a block that contains `rank`, whole along the same dimensions as the recorded one: in order.
  [[nodiscard]] std::vector<std::uint32_t> block_around(const RankBlock& block, std::uint32_t rank) const;

 private:
  struct Step {
    std::vector<int> by;  ///< By dimension; of all-to-all, the difference of the ranks modulo their number.
    bool is_near = false;
    bool stays = false;  ///< Within its copy.
    friend auto operator<=>(const Step&, const Step&) = default;
  };

  [[nodiscard]] std::uint32_t model_coordinate(std::size_t dimension, std::uint32_t at) const;
  [[nodiscard]] std::vector<int> ways_of(std::size_t dimension, int step, std::uint32_t& side) const;
  [[nodiscard]] std::optional<std::uint32_t> moved(const Step& step, std::uint32_t rank, int direction) const;
  [[nodiscard]] std::vector<std::uint32_t> all_moved(StepCode step, std::uint32_t rank, int direction) const;
  StepCode code_of(Step step);

  RankGrid grid_;
  RankGrid larger_;
  std::vector<std::uint32_t> replicas_;
  std::uint32_t recorded_ = 0;
  std::uint32_t rank_count_ = 0;
  bool has_whole_copies_ = true;
  std::vector<std::uint32_t> models_;  ///< By rank.
  std::vector<Step> steps_;            ///< By code.
  std::map<Step, StepCode> codes_;
};

}  // namespace plait::replay::detail
