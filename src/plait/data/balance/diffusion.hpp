// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

struct DiffusionOptions {
  std::uint32_t iterations = 8;  ///< Of deciding how much flows, and moving objects. At least 1.
  std::uint32_t sweeps = 64;     ///< Exchanges of loads among neighbours an iteration. At least 1.
};

/// Load flows between ranks that talk to each other, from more to less, until all have the same; then objects move
/// along these flows, those first that have most to say to the other side.
///
/// Each rank knows its neighbours only: ranks whose objects send to its objects, and the next and last rank by number,
/// so that all are reached; where no objects talk, those of a hypercube. Nothing jumps over a rank in one iteration, so
/// neighbours stay near, and a heap of load far away is spread slowly. Flows are those of the second-order scheme of
/// Muthukrishnan, Ghosh and Schultz, "First- and second-order diffusive methods for rapid, coarse, distributed load
/// balancing" (1998), with weights by degree. Returns the best placement of all iterations, what is now among them.
/// Cost: iterations * (sweeps * pairs of neighbouring ranks + edges log edges).
class Diffusion final : public Balancer {
 public:
  explicit Diffusion(const DiffusionOptions& options = {}) noexcept : options_{options} {}
  /// Options: iterations, sweeps.
  explicit Diffusion(Settings& settings);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Decision decide(const Problem& problem) const override;

 private:
  DiffusionOptions options_;
};

}  // namespace plait::data::balance
