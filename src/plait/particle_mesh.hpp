// SPDX-License-Identifier: Apache-2.0
#pragma once

// The public headers of plait::particle-mesh, for programs: no other header of plait includes this one.
#include "plait/particle_mesh/ewald.hpp"
#include "plait/particle_mesh/force_split.hpp"
#include "plait/particle_mesh/periodic_gravity.hpp"
