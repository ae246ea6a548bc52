// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/data/balance/balancer.hpp"

namespace plait::data::balance {

enum class ZoltanMethod : std::uint8_t {
  bisection,  ///< RCB: recursive coordinate bisection.
  curve,      ///< HSFC: a Hilbert curve through the positions.
  graph,      ///< GRAPH: Zoltan's own graph partitioner (PHG), starting from the present placement.
};

/// Balancers of the library Zoltan, as references: RCB, HSFC and graph partitioning.
///
/// Partitions the whole problem in this process into as many parts as ranks, numbered so that little moves. Ignores
/// weights and memory, but keeps the present placement if that costs less. Treats objects that cannot move as loads of
/// no rank. Needs MPI initialised during the decision; sends no message to other processes.
class Zoltan final : public Balancer {
 public:
  /// Throws: `Error` with `network` when Zoltan cannot be initialised.
  explicit Zoltan(ZoltanMethod method);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Decision decide(const Problem& problem) const override;

 private:
  ZoltanMethod method_;
};

}  // namespace plait::data::balance
