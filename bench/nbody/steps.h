/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The same N-body program in three languages: a cold homogeneous sphere of radius 3 and mass 1, monopoles at theta 0.5
 * in mixed precision, and a kernel of the program. Each creates a runtime over `communicator`, adds `count` particles
 * on the first rank, updates once, and returns this rank's seconds of each of `steps` steps; negative after an error,
 * which it writes to stderr. Collective. */

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

double nbody_c_seconds(MPI_Comm communicator, int count, int steps);
double nbody_fortran_seconds(MPI_Fint communicator, int count, int steps);

#ifdef __cplusplus
}
#endif
