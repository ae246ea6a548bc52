// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

namespace sph {

/// The fields of individual time steps; `StepFields{store}` adds them to the store.
struct StepFields {
  plait::particles::Particles& store;

  plait::particles::Field<std::uint8_t> bin = store.add_field<std::uint8_t>("time bin");  ///< Of its step.
  /// The bin that neighbours read: changes only between stages that read it.
  plait::particles::Field<std::uint8_t> bin_seen = store.add_field<std::uint8_t>("time bin seen");
  plait::particles::Field<plait::Ticks> begin = store.add_field<plait::Ticks>("begin of step");  ///< Of its step.
};

enum class Steps : std::uint8_t {
  individual,  ///< Each particle has its own.
  equal,       ///< All particles take the shortest step that any needs.
};

/// The place of a run on its time line, and its domains: with these and all fields of its particles it goes on as if it
/// had not ended.
struct StepState {
  double begin = 0;  ///< Of the time line.
  double end = 0;
  plait::Ticks now = 0;
  Steps kind = Steps::individual;
  std::vector<double> cuts;  ///< Boundaries of the domains of all ranks.
};

}  // namespace sph
