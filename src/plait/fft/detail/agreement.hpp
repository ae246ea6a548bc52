// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/fft/layout.hpp"
#include "plait/fft/plan.hpp"

namespace plait::fft::detail {

/// What ranks tell each other when a plan is made.
struct Wish {
  // Must be the same on all ranks.
  std::array<Index, 3> lengths{};
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  std::uint32_t pieces = 0;
  Kind kind = Kind::real;
  Effort effort = Effort::measure;
  std::array<char, 14> variant{};  ///< Its name, or the beginning of it.
  // May differ.
  std::uint32_t workers = 0;
  std::uint32_t names_node = 0;  ///< 1: `node` is what the program says; 0: it stands for the machine.
  std::uint64_t node = 0;
};

/// The wishes of all ranks, in their order. Collective. Throws: `Error` with `bad_argument`, the same on all ranks,
/// when they differ; it says in what.
[[nodiscard]] std::vector<Wish> agree(const comm::Group& everyone, const Wish& mine);

/// By rank, numbers of nodes from 0 in order of their first ranks.
[[nodiscard]] std::vector<std::uint32_t> nodes_of(const std::vector<Wish>& wishes);

/// The grid that is wished for, or a good one. Throws: `Error` with `bad_argument` when it has not as many places as
/// there are ranks.
[[nodiscard]] RankGrid choose_grid(const std::array<Index, 3>& lengths,
                                   Kind kind,
                                   const RankGrid& wish,
                                   const std::vector<std::uint32_t>& nodes);

/// Throws: `Error` with `bad_argument` when there is no array with these lengths.
void throw_if_no_array(const std::array<Index, 3>& lengths);

}  // namespace plait::fft::detail
