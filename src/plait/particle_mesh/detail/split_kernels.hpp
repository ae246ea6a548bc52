// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/particle_mesh/force_split.hpp"
#include "plait/particles/trees/kernels/kernel.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles::detail {

/// Sums the short-range part of gravity of bodies, and of cells by their moments up to `order`. Beyond the cut-off of
/// `split` nothing acts. With softening, the whole force of bodies is that of Plummer spheres.
///
/// The smooth potential of a target at its own place is taken off, as the mesh has it too.
void sum_short_range(const KernelWork& work, const ForceSplit& split, Order order);

}  // namespace plait::particles::detail
