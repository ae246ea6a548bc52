// SPDX-License-Identifier: Apache-2.0
// ranks: 3
// A flow in which each rank submits its own tasks only: heat along a rod of blocks. The time to submit does not grow
// with the number of ranks.
#include <algorithm>
#include <array>
#include <iostream>
#include <span>

#include "plait/plait.hpp"

using Values = std::span<double>;
using ConstValues = std::span<const double>;

constexpr std::uint32_t blocks = 12;
constexpr std::size_t cells = 100;
constexpr std::uint32_t steps = 10;

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  plait::Flow flow{runtime, {.submission = plait::Submission::own_tasks}};
  const plait::BlockCyclic by_rank{.rows = flow.rank_count()};
  const plait::DataGrid<double> heat{flow, "heat", {.rows = blocks}, cells, by_rank};
  const plait::DataGrid<double> ends{flow, "ends", {.rows = blocks}, 2, by_rank};  // first and last cell of a block

  const auto near = [](std::uint32_t block) {  // the blocks that read the ends of this one
    return std::array{(block + blocks - 1) % blocks, (block + 1) % blocks};
  };
  for (const std::uint32_t block : by_rank.rows_of(flow.self(), 0, blocks)) {
    std::ranges::fill(heat.local(block, 0), block == 0 ? 1.0 : 0.0);
  }
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (const std::uint32_t block : by_rank.rows_of(flow.self(), 0, blocks)) {
      flow.submit([](ConstValues now, Values both) { both[0] = now.front(), both[1] = now.back(); },
                  r(heat(block, 0)),
                  w(ends(block, 0)));
      // Version step + 1, as one task of each step writes it. Ranks that own both blocks are sent nothing.
      const auto [left, right] = near(block);
      flow.send(r(ends(block, 0)), std::array{heat(left, 0).owner(), heat(right, 0).owner()});
    }
    for (const std::uint32_t block : by_rank.rows_of(flow.self(), 0, blocks)) {
      const auto [left, right] = near(block);
      flow.submit(
          [](ConstValues before, ConstValues after, Values now) {
            double previous = before[1];
            for (std::size_t i = 0; i < now.size(); ++i) {
              const double next = i + 1 < now.size() ? now[i + 1] : after[0];
              const double here = now[i];
              now[i] += 0.25 * (previous - 2 * here + next);
              previous = here;
            }
          },
          r(ends(left, 0), step + 1),
          r(ends(right, 0), step + 1),
          rw(heat(block, 0)));
    }
  }
  flow.wait();

  double total = 0;
  for (const std::uint32_t block : by_rank.rows_of(flow.self(), 0, blocks)) {
    for (const double value : heat.local(block, 0)) {
      total += value;
    }
  }
  plait::all_reduce(plait::Group{runtime.messages()}, std::span{&total, 1}).wait();
  if (flow.self() == plait::Rank{0}) {
    std::cout << "rank 0 has submitted " << flow.statistics().submitted << " times; the heat is " << total << '\n';
  }
}
