// SPDX-License-Identifier: Apache-2.0
#pragma once

// The public headers of plait::fft, for programs: no other header of plait includes this one.

#include "plait/fft/exchange.hpp"
#include "plait/fft/execution.hpp"
#include "plait/fft/layout.hpp"
#include "plait/fft/plan.hpp"
#ifdef PLAIT_WITH_MPI
#include "plait/fft/mpi/variants.hpp"
#endif
