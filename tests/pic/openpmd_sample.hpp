// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "pic/output/openpmd.hpp"

namespace pic::test {

/// A step of 12 x 10 cells and 60 electrons, cut into rows among ranks, the same whatever their number: values that
/// encode where they belong. Rank 1 of several has no particles.
struct OpenPmdSample {
  OpenPmdSample(std::uint32_t rank, std::uint32_t ranks) {
    step.step = 7;
    step.time = 0.875;
    step.time_step = 0.125;
    step.units = OutputUnits::plasma(1e-6);
    const double electrons = OutputUnits::plasma_electrons(1e-6);
    step.grid = {
        .cells = {12, 10, 1}, .spacing = {0.5, 0.25, 1}, .origin = {-3, 0, 0}, .is_periodic = {false, true, true}};
    const std::uint64_t first = 10 * rank / ranks;
    step.block = {.first = {0, first, 0}, .count = {12, 10 * (rank + 1) / ranks - first, 1}};
    for (std::uint64_t row = first; row < first + step.block.count[1]; ++row) {
      for (std::uint64_t column = 0; column < 12; ++column) {
        cells.push_back(static_cast<double>(100 * row + column));
      }
    }
    step.meshes.push_back(
        {.name = "E",
         .dimension = electric_field,
         .components = {{"x", {0.5, 0, 0}, cells}, {"y", {0, 0.5, 0}, cells}, {"z", {0, 0, 0}, cells}}});
    step.meshes.push_back({.name = "rho", .dimension = charge_density, .components = {{"", {0, 0, 0}, cells}}});
    const std::uint64_t sharers = ranks > 1 ? ranks - 1 : 1;
    const std::uint64_t share = rank > 1 ? rank - 1 : 0;
    const bool has_some = rank != 1;
    for (std::uint64_t i = 60 * share / sharers; has_some && i < 60 * (share + 1) / sharers; ++i) {
      const double number = static_cast<double>(i);
      x.push_back(-3 + 0.1 * number);
      y.push_back(0.04 * number);
      momentum.push_back(0.001 * number / electrons);
      weighting.push_back(2);
      ids.push_back(1000 + i);
    }
    step.species.push_back({.name = "electrons",
                            .charge = -1 / electrons,
                            .mass = 1 / electrons,
                            .position = {x, y, {}},
                            .momentum = {momentum, momentum, momentum},
                            .weighting = weighting,
                            .id = ids});
    step.species.push_back({.name = "nobody"});
  }

  OpenPmdSample(const OpenPmdSample&) = delete;
  OpenPmdSample& operator=(const OpenPmdSample&) = delete;

  OutputStep step;
  std::vector<double> cells;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> momentum;
  std::vector<double> weighting;
  std::vector<std::uint64_t> ids;
};

}  // namespace pic::test
