// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/execution.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <gtest/gtest.h>

#include "fft/ranks.hpp"

namespace plait::fft {
namespace {

using test::Complex;
using test::for_each_point;
using test::LoopbackRank;
using test::run_ranks;

struct Case {
  std::array<Index, 3> lengths;
  RankGrid grid;
  Kind kind;
  const char* variant;
};

PlanOptions options_of(const Case& which) {
  return {.kind = which.kind, .grid = which.grid, .effort = Effort::estimate, .pieces = 3, .variant = which.variant};
}

Complex field(const std::array<Index, 3>& point, Kind kind) {
  return {test::noise(point, 1), kind == Kind::real ? 0 : test::noise(point, 2)};
}

/// Arrays of one rank, and the two executions between them.
class There {
 public:
  explicit There(const Plan& plan)
      : plan_{plan},
        real(plan.kind() == Kind::real ? static_cast<std::size_t>(plan.physical().size()) : 0),
        complex(plan.kind() == Kind::complex ? static_cast<std::size_t>(plan.physical().size()) : 0),
        spectral(static_cast<std::size_t>(plan.spectral().size())) {}

  [[nodiscard]] Execution forward(double scale = 1) {
    return plan_.kind() == Kind::real ? Execution{plan_, std::span<const double>{real}, std::span{spectral}, scale}
                                      : Execution{plan_, Direction::forward, complex, spectral, scale};
  }
  [[nodiscard]] Execution backward(double scale = 1) {
    return plan_.kind() == Kind::real ? Execution{plan_, std::span<const Complex>{spectral}, std::span{real}, scale}
                                      : Execution{plan_, Direction::backward, spectral, complex, scale};
  }
  void set(std::size_t place, Complex value) {
    if (plan_.kind() == Kind::real) {
      real[place] = value.real();
    } else {
      complex[place] = value;
    }
  }
  [[nodiscard]] Complex at(std::size_t place) const {
    return plan_.kind() == Kind::real ? Complex{real[place]} : complex[place];
  }

 private:
  const Plan& plan_;

 public:
  std::vector<double> real;
  std::vector<Complex> complex;
  std::vector<Complex> spectral;
};

void check(const Case& which) {
  SCOPED_TRACE(testing::Message() << which.lengths[0] << " x " << which.lengths[1] << " x " << which.lengths[2]
                                  << " on " << which.grid.row << " x " << which.grid.column << " by " << which.variant
                                  << (which.kind == Kind::real ? ", real" : ", complex"));
  const auto value = [&](const std::array<Index, 3>& point) { return field(point, which.kind); };
  const std::vector<Complex> expected = test::plain_transform(which.lengths, value, -1);
  const auto points = static_cast<double>(expected.size());
  std::mutex mutex;
  double worst = 0;
  double worst_back = 0;
  bool is_kept = true;
  run_ranks(which.grid.row * which.grid.column, [&](LoopbackRank& rank) {
    const Plan plan{rank.messages(), rank.scheduler(), which.lengths, options_of(which)};
    There there{plan};
    Execution forward = there.forward(2);
    Execution backward = there.backward(0.5 / points);
    for (int round = 0; round < 2; ++round) {
      for_each_point(plan.physical(), [&](const auto& point, std::size_t place) { there.set(place, value(point)); });
      std::ranges::fill(there.spectral, Complex{99, 99});
      forward.run();
      double mine = 0;
      for_each_point(plan.spectral(), [&](const auto& wave, std::size_t place) {
        const auto& lengths = which.lengths;
        const auto number = static_cast<std::size_t>((wave[0] * lengths[1] + wave[1]) * lengths[2] + wave[2]);
        mine = std::max(mine, std::abs(there.spectral[place] - 2.0 * expected[number]));
      });
      const std::vector<Complex> before = there.spectral;
      for_each_point(plan.physical(), [&](const auto&, std::size_t place) { there.set(place, 99); });
      backward.run();
      double mine_back = 0;
      for_each_point(plan.physical(), [&](const auto& point, std::size_t place) {
        mine_back = std::max(mine_back, std::abs(there.at(place) - value(point)));
      });
      const std::lock_guard lock{mutex};
      worst = std::max(worst, mine);
      worst_back = std::max(worst_back, mine_back);
      is_kept = is_kept && before == there.spectral;
    }
  });
  EXPECT_LT(worst, 1e-13 * points);
  EXPECT_LT(worst_back, 1e-14);
  EXPECT_TRUE(is_kept) << "the input of a transform was changed";
}

constexpr std::array<RankGrid, 7> grids{{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 2}, {2, 3}}};
constexpr std::array<std::array<Index, 3>, 9> all_lengths{
    {{8, 8, 8}, {1, 1, 1}, {7, 11, 13}, {4, 6, 10}, {1, 9, 2}, {5, 1, 1}, {2, 2, 33}, {12, 20, 3}, {3, 1, 17}}};

TEST(Execution, transforms_as_the_definition_says_and_back) {
  for (const auto& lengths : all_lengths) {
    for (const RankGrid& grid : grids) {
      for (const Kind kind : {Kind::real, Kind::complex}) {
        for (const char* variant : {"PLT", "PLB", "PLN"}) {
          check({lengths, grid, kind, variant});
        }
      }
    }
  }
}

}  // namespace
}  // namespace plait::fft
