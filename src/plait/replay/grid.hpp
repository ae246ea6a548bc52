// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// How the ranks of an exchange are arranged: a grid whose points exchange messages with their neighbours, also across
/// corners, or all with all.
struct RankGrid {
  struct Dimension {
    std::uint32_t size = 1;
    bool is_periodic = false;  ///< The first and the last rank are neighbours.
    /// Two ranks only: the messages from one to the other go to its left and to its right in turn. Otherwise each of
    /// them stands for both.
    bool alternates = false;
  };
  std::vector<Dimension> dimensions;  ///< Rank = x + size_x (y + size_y z). Empty: all exchange with all.

  [[nodiscard]] bool is_all_to_all() const noexcept { return dimensions.empty(); }
  /// The product of all sizes; 0: any number.
  [[nodiscard]] std::uint32_t rank_count() const noexcept;
  /// The coordinates of a rank.
  [[nodiscard]] std::vector<std::uint32_t> place_of(std::uint32_t rank) const;
  /// How many dimensions have more than one rank.
  [[nodiscard]] std::uint32_t cut_dimensions() const noexcept;
  /// As in "a periodic grid of 4x2 ranks", "all-to-all".
  [[nodiscard]] std::string text() const;
};

/// The shortest step from coordinate `from` to `to`, which may lead across the end of a periodic dimension.
[[nodiscard]] int step_between(const RankGrid::Dimension& dimension, std::uint32_t from, std::uint32_t to) noexcept;

/// A grid as a user gives it. What is not given is found in the exchange.
struct GridChoice {
  bool is_all_to_all = false;
  std::vector<std::uint32_t> sizes;  ///< Empty: any.
  std::optional<bool> is_periodic;   ///< Of all dimensions.
};

/// Parses "4x2", "4x2:periodic", "4x2:open", or "all". Error: `bad_argument`.
[[nodiscard]] Result<GridChoice> parse_grid(std::string_view text);

/// Finds the grid of an exchange, of one to three dimensions: the one whose neighbours exchange most of the messages,
/// with the fewest neighbours that exchange none, and with lines or planes for communicators. Four or more ranks of
/// which all exchange equally many bytes with all are all-to-all. An exchange of collectives only is a periodic line,
/// or the grid of its communicators.
///
/// A dimension of two ranks is periodic if the messages of each pair have an even number of tags, with equal bytes.
///
/// Error: `bad_input` if neighbours exchange less than three quarters of the messages in every grid, `bad_argument` if
/// the chosen sizes do not give the number of ranks. Cost: sorts the messages.
[[nodiscard]] Result<RankGrid> find_grid(const Schedule& schedule, const GridChoice& choice = {});

}  // namespace plait::replay
