// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/runtime/runtime.hpp"

namespace plait::python {

struct GravitySettings {
  double softening = 0;
  double theta = 0.5;
  double coupling = 1;
  bool is_quadrupole = true;
  bool is_mixed = false;
  particles::Space space = {};
};

/// The forces on this rank's bodies by those of all ranks, in their order.
struct Forces {
  std::vector<double> accelerations;  ///< Three a body.
  std::vector<double> potentials;
};

/// Sums gravity by trees. `positions` has three numbers a body, `masses` one. Collective; call it without the GIL.
/// Throws: `Error` with `bad_argument` for positions or masses that cannot be.
[[nodiscard]] Forces sum_gravity(Runtime& runtime,
                                 const comm::Group& group,
                                 std::span<const double> positions,
                                 std::span<const double> masses,
                                 const GravitySettings& settings);

}  // namespace plait::python
