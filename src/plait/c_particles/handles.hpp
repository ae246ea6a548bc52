// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "plait/c/handles.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/plait_particles.h"

// What the handles of plait_particles.h name.

/// A store, and the type of each field. Threads: as `plait::particles::Particles`.
struct plait_store {
  static constexpr int byte_type = -1;  ///< Of kinds, which no `plait_type` describes.

  struct Type {
    int type = 0;  ///< A `plait_type`, or `byte_type`.
    int components = 1;
    friend bool operator==(const Type&, const Type&) = default;
  };

  plait::particles::Particles store;
  std::vector<Type> types{{PLAIT_DOUBLE, 3}, {PLAIT_INT64, 1}, {byte_type, 1}, {PLAIT_FLOAT, 1}};  ///< By field.
};

/// Neighbour lists of a system.
struct plait_neighbours {
  plait_store& store;
  const plait::particles::NeighbourLists* lists;
  std::vector<int> imported_fields;
};

/// A system, and the group for its sums. Threads: one at a time.
struct plait_system {
  plait_system(plait_runtime& runtime, plait_store& its_store, const plait::particles::SystemOptions& options)
      : store{its_store},
        system{runtime.runtime.messages(), runtime.runtime.scheduler(), its_store.store, options},
        ranks{runtime.runtime.messages()} {
    system.record_to(runtime.runtime.trace());
  }

  plait_store& store;
  plait::particles::System system;
  plait::comm::Group ranks;
  plait::particles::StepResult last_step;
  std::vector<std::unique_ptr<plait_neighbours>> neighbours;
};
