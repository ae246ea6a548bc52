// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace plait::python {

/// Adds gravity, neighbours, stores, systems and measures of particles to the extension module.
void add_particles_module(nanobind::module_& module);

}  // namespace plait::python
