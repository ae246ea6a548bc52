// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "plait/comm/endpoint.hpp"
#include "plait/fft/layout.hpp"
#include "plait/fft/plan.hpp"
#include "plait/particles/interaction.hpp"
#include "plait/particles/store/box.hpp"
#include "plait/particles/trees/long_range.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::particles {

/// Gravity or electrostatics of particles and of all their images in a periodic box, by a tree for short distances and
/// a mesh for the rest (`ForceSplit`).
///
/// The mean density is taken off, so that potentials have mean 0; that of neutral charges is 0 already. `coupling` of
/// the tree is the gravitational constant. Charges may have both signs: with a negative coupling, that of Coulomb's
/// law, equal ones repel each other, and the sums are the electric field and its potential.
struct PeriodicGravityOptions {
  /// The fields, order, opening angle, softening, precision and sizes. Its cut-off, kernel and signs belong to this
  /// interaction: cut-off and kernel must be unset, as the near radius and reused lists. Cells are opened at 1.25 times
  /// the distance of open boxes. The default order and angle have rms errors of 4e-5 to 1.3e-4 (`plait bench
  /// periodic`), below 1e-3 in a slightly disturbed lattice of some hundred particles, and of 7e-3 in one of 1e5, where
  /// forces cancel: choose a smaller angle there.
  LongRangeOptions tree;
  /// That of the system's space, which is periodic along all axes.
  Box box;
  /// The points of the mesh along each axis. Twice the cube root of the number of particles is fast, and products of 2,
  /// 3, 5 and 7 are.
  std::array<fft::Index, 3> mesh{};
  /// The length of the split in distances of two mesh points (of the axis where they are farthest apart). Smaller ones
  /// make trees cheaper and the mesh less accurate.
  double split = 1.25;
  /// The cut-off of the short-range part in lengths of the split; at most 6.
  double cutoff = 6;
  /// FFTW's search for fast transforms. `estimate` needs no measurements: equal runs then have equal roundings.
  fft::Effort effort = fft::Effort::measure;
};

/// Creates the interaction, for `System::add`. Collective: all ranks create it at the same place in their programs.
///
/// `messages` and `scheduler` are those of the system; they are borrowed. In a step, the mesh's messages and transforms
/// proceed while trees are walked. Memory: three meshes divided over the ranks, and the part of a mesh around this
/// rank's particles. Throws: `Error` with `bad_argument` for a box without a volume, a mesh of less than 6 points along
/// an axis, a cut-off of more than half of the box, and options of the tree that must be unset; from the first step, if
/// the system's space is another. Cost a step, beside the tree's: O(particles) with 216 points each, two transforms.
[[nodiscard]] std::unique_ptr<Interaction> make_periodic_gravity(comm::Endpoint& messages,
                                                                 task::Scheduler& scheduler,
                                                                 const PeriodicGravityOptions& options);

// The two parts of the same sum, for systems whose particles have individual time steps: the short range is summed in
// each step for active particles, the mesh in steps of its own.

/// The long-range part: the mesh alone (`System::add_slow_force`). Its results are the fields of `options.tree`, which
/// the short range does not have. Collective, and throws, as `make_periodic_gravity`.
[[nodiscard]] std::unique_ptr<Interaction> make_periodic_mesh(comm::Endpoint& messages,
                                                              task::Scheduler& scheduler,
                                                              const PeriodicGravityOptions& options);

/// The options of the short-range part, for `System::add_long_range`: set `velocity` for several ranks. Charges have
/// one sign. Throws: as `make_periodic_gravity`.
[[nodiscard]] LongRangeOptions periodic_short_range(const PeriodicGravityOptions& options);

}  // namespace plait::particles
