// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/particles/trees/kernels/kernel.hpp"

namespace bench {

/// The kernel of steps.h in C++, in a file of its own: it is compiled with the flags of the others.
void nbody_pull(const plait::particles::KernelWork& work);

}  // namespace bench
