// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/particles/kernels/kernel.hpp"

namespace plait::particles::detail {

/// Two-lane vectors that every processor has or the compiler makes up.
extern const Kernels kernels_portable;
#ifdef __x86_64__
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

}  // namespace plait::particles::detail
