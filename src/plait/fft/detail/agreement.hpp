// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/fft/layout.hpp"
#include "plait/fft/plan.hpp"

namespace plait::fft::detail {

/// A rank's request for a plan, which all ranks exchange.
struct Wish {
  // Must be equal on all ranks.
  std::array<Index, 3> lengths{};
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  std::uint32_t pieces = 0;
  Kind kind = Kind::real;
  Effort effort = Effort::measure;
  std::array<char, 14> variant{};  ///< The first characters of its name.
  // May differ.
  std::uint32_t workers = 0;
  std::uint32_t names_node = 0;  ///< 1 if the program has set `node`, 0 if it is a hash of the host name.
  std::uint64_t node = 0;
};

/// Gathers the requests of all ranks, in order. Collective. Throws: `Error` with `bad_argument` on all ranks, which
/// names the difference, if they differ.
[[nodiscard]] std::vector<Wish> agree(const comm::Group& everyone, const Wish& mine);

/// The node of each rank; nodes are numbered from 0 in the order of their first ranks.
[[nodiscard]] std::vector<std::uint32_t> nodes_of(const std::vector<Wish>& wishes);

/// The requested grid, or a good one. Throws: `Error` with `bad_argument` if its size is not the number of ranks.
[[nodiscard]] TransformGrid choose_grid(const std::array<Index, 3>& lengths,
                                        Kind kind,
                                        const TransformGrid& wish,
                                        const std::vector<std::uint32_t>& nodes);

/// Throws: `Error` with `bad_argument` if no array has these lengths.
void throw_if_no_array(const std::array<Index, 3>& lengths);

}  // namespace plait::fft::detail
