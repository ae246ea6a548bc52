// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <mpi.h>

#include "plait/data/balance/balancer.hpp"

namespace plait::data::balance {

enum class ZoltanMethod : std::uint8_t {
  bisection,  ///< RCB: recursive coordinate bisection.
  curve,      ///< HSFC: a Hilbert curve through the positions.
  graph,      ///< GRAPH: Zoltan's own graph partitioner (PHG), repartitioning what is.
};
/// "zoltan_rcb", "zoltan_hsfc", "zoltan_graph". Throws: `Error` with `bad_argument` that lists them, for any other.
[[nodiscard]] ZoltanMethod zoltan_method(std::string_view name);

/// Balancers of the library Zoltan, to be compared with: RCB, HSFC and graph partitioning.
///
/// Decides the whole problem in this process, on as many parts as ranks; parts are numbered so that little moves.
/// Ignores weights and memory but for whether what is now costs less, and treats objects that cannot move as fixed
/// loads of no rank. Needs MPI initialised for the time of the decision; sends no message to other processes.
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
