/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Particle codes in C: a store of particles, interactions between them, and steps. docs/how-to/particles.md is their
 * manual. Results, handles and threads are those of plait.h, unless documented otherwise.
 *
 * Places. A particle's place in its store is a number from 0. Steps change places and send particles to other ranks:
 * identify particles by their id.
 *
 * Pointers to values are valid until the next call that adds or removes particles, and until the next update, step or
 * distribution of their system. Functions of a step get pointers of their own, valid during the call.
 *
 * One header, as programs in C expect it: each part has a heading of its own.
 */

#include <stddef.h>
#include <stdint.h>

#include "plait/plait.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Stores ---- */

/* The particles of one rank: an array for each field. All ranks add the same fields in the same order. */
typedef struct plait_store plait_store;

/* The fields that every store has. A field is a small number; those of the program follow these. */
enum {
  PLAIT_POSITION = 0, /* Three doubles. */
  PLAIT_ID = 1,       /* An int64_t. */
  PLAIT_KIND = 2,     /* A uint8_t below 64, such as gas or star. Interactions select by it. */
  PLAIT_COST = 3      /* A float: the cost of a particle's forces, for domain decomposition. Steps set it. */
};

int plait_store_create(plait_store** store);
/* Not before its systems. */
int plait_store_free(plait_store** store);

/* Adds a field of `components` numbers of a plait_type, at least 1: a vector has 3. It is zero for existing particles.
 * Its values migrate with their particle. `name` is copied. */
int plait_store_add_field(plait_store* store, const char* name, int type, int components, int* field);
/* Gives the type of a field and its components. `type` of PLAIT_KIND: -1. */
int plait_store_describe_field(const plait_store* store, int field, int* type, int* components);

/* The particles of this rank. */
size_t plait_store_size(const plait_store* store);
/* Appends `count` particles whose fields are zero. `first`, the place of the first one, may be NULL. */
int plait_store_add(plait_store* store, size_t count, size_t* first);
/* Removes the particles at `places`, which ascend. Particles from the end fill the gaps. */
int plait_store_remove(plait_store* store, size_t count, const int32_t* places);
/* Returns the values of a field, those of one particle contiguous, aligned to 64 bytes. NULL if there are no particles,
 * or no such field; then plait_last_error() has a sentence. Cost: O(1), no copy. */
void* plait_store_values(plait_store* store, int field);

/* ---- Systems ---- */

/* The particles of all ranks, and their interactions. Collective: all ranks create equal systems and call the same
 * functions in the same order. */
typedef struct plait_system plait_system;

typedef enum plait_coordinates {
  PLAIT_CARTESIAN = 0,
  PLAIT_CYLINDRICAL = 1 /* Domains are cut by azimuth, radius and z: for rings and discs around x = y = 0. */
} plait_coordinates;

/* Settings of a system; plait_system_options_init sets the defaults. Later versions add fields at the end. */
typedef struct plait_system_options {
  size_t size;                      /* Of this structure, in the version that the program was compiled with. */
  double low[3], high[3];           /* The box, used along periodic axes: positions are in [low, high). */
  int periodic[3];                  /* Default: open. */
  int coordinates;                  /* A plait_coordinates. */
  int grid[3];                      /* Ranks along each axis. 0: as near a cube as possible. */
  int steps_between_decompositions; /* Default 4. 0 decomposes once, at the start. */
  int steps_between_trees;          /* Default 1. Above: between two builds, particles stay on their ranks. */
  double shear_rate; /* Images along x move along y, in a flow of v_y = -shear_rate x: 3/2 of the orbital frequency in a
                        Keplerian disc. Needs periodic x and y. Default 0: none. */
  int shear_velocity; /* A field of three doubles, whose y component changes where a particle crosses a boundary along
                         x. Default -1: none. */
  int cell_reach;     /* How far stages read neighbours: a field of one float. Default -1: that of the pair stages. */
  uint64_t limited_kinds; /* A bit for each kind whose steps are limited by those of neighbours. Default: all. */
} plait_system_options;

/* `size`: sizeof(plait_system_options). */
int plait_system_options_init(plait_system_options* options, size_t size);

/* Creates a system over the ranks of `runtime`. Both `runtime` and `store` must outlive it. `store` may have any part
 * of all particles. `options` may be NULL. Steps are recorded in the runtime's trace. */
int plait_system_create(plait_runtime* runtime,
                        plait_store* store,
                        const plait_system_options* options,
                        plait_system** system);
int plait_system_free(plait_system** system);

/* Sets the time of a shear, at which images are displaced along y by shear_rate * time for each length along x. It is
 * that of the positions which the next update or step sums at. Default: 0, when boxes are in line. */
int plait_system_set_time(plait_system* system, double time);

/* ---- Long-range interactions ---- */

/* Bodies in double precision. The count is a multiple of 16; the last ones may be padding with charge 0. */
typedef struct plait_bodies {
  size_t count;
  const double *x, *y, *z, *charge;
} plait_bodies;

/* Bodies or tree cells in single precision, relative to a centre near the targets. As above. */
typedef struct plait_cells {
  size_t count;
  const float *x, *y, *z, *charge;
  const float *xx, *xy, *xz, *yy, *yz; /* The traceless quadrupoles of cells: sums of charge (3 x y - r^2 [x = y]). */
} plait_cells;

/* Some targets, and all bodies and cells that act on them. */
typedef struct plait_tree_block {
  size_t count;                          /* Of targets. */
  const double *x, *y, *z;               /* Their positions. */
  const float *near_x, *near_y, *near_z; /* The same, relative to the centre of the cells. */
  double (*sums)[4];                     /* The kernel adds acceleration (x, y, z) and potential of each target. */
  plait_bodies bodies;                   /* In full precision; else empty. */
  plait_cells near_bodies;               /* In mixed precision; else empty. They have no quadrupoles. */
  plait_cells cells;
  double softening2;   /* The square of the softening length. */
  double cutoff2;      /* The square of the cut-off; infinite if there is none. */
  double period[3];    /* Along which the nearest image acts; 0 along open axes. */
  double displacement; /* In a shearing box: the image n periods of x ahead is n times this behind along y. Kernels fold
                          x first, then y and z. */
  const void* moments; /* The program's moments of the cells, contiguous, in their order, without padding. */
  size_t moment_count; /* 0 if the program has no moments; else the cells without padding. */
} plait_tree_block;

/* A program's own force. Any worker calls it, concurrently for different targets. A target is among the bodies, at
 * distance 0. The sums are multiplied by the coupling. A result other than 0 ends the run, as of a plait_function. */
typedef int (*plait_tree_kernel)(const plait_tree_block* block, void* argument);

/* A program's own moments of tree cells, which its kernel reads: such as those of a Yukawa potential. Functions are
 * called and ended as a plait_tree_kernel, concurrently for different cells. `moment` is aligned as a double; at first
 * it has the bytes of `moment_of_none`. Moments travel with trees. */
/* Adds the particle at a place. `offset` is from the centre of the cell to the particle. */
typedef int (*plait_moment_of_body)(
    void* moment, plait_store* store, size_t place, const double offset[3], void* argument);
/* Shifts the moment of a child to the centre of the cell, and adds it. `offset` is from the centre of the cell to that
 * of the child. Centres are those of the absolute charges. */
typedef int (*plait_moment_of_child)(void* moment, const void* child, const double offset[3], void* argument);

typedef enum plait_order { PLAIT_MONOPOLE = 1, PLAIT_QUADRUPOLE = 2 } plait_order;
typedef enum plait_precision {
  PLAIT_MIXED = 0, /* Single precision relative to a nearby centre: errors of 1e-6, and faster. */
  PLAIT_FULL = 1   /* Bodies in double precision. */
} plait_precision;
typedef enum plait_lets { PLAIT_LETS_ALL_TO_ALL = 0, PLAIT_LETS_EXACT = 1, PLAIT_LETS_FAST = 2 } plait_lets;

/* Forces that decay as 1 / r^2, or a program's own. Later versions add fields at the end. */
typedef struct plait_long_range_options {
  size_t size;
  int charge;                          /* A field of one double, such as mass. Required, as the next two. */
  int acceleration;                    /* A field of three doubles, to which the sums are added. */
  int potential;                       /* A field of one double. */
  uint64_t source_kinds, target_kinds; /* A bit for each kind. Default: all. */
  double theta;                        /* The opening angle, default 0.5; 0 sums directly. */
  double softening;                    /* The Plummer length. Default 0. */
  double coupling;                     /* Acceleration is coupling * charge / r^2 towards the source. Default 1. */
  double cutoff;                       /* The distance from which on nothing acts. Default 0: none. */
  int order;                           /* A plait_order. Default: quadrupoles. */
  int precision;                       /* A plait_precision. Default: full. */
  int lets;                            /* What ranks send of their trees, a plait_lets. Default: exact. */
  int measures_sizes;                  /* Whether each rank measures the fastest sizes of leaves and groups first. */
  int reuses_lists;                    /* Whether interaction lists are reused until the next build of trees. */
  plait_tree_kernel kernel;            /* Default NULL: gravity, vectorised for each processor. */
  void* argument;                      /* Of the kernel. Must outlive the system. */
  int has_both_signs;         /* Whether charges are of both signs. Default 0: cells whose charges cancel do not act. */
  size_t moment_bytes;        /* Of the program's moment of one cell: a multiple of 8. Default 0: none. */
  const void* moment_of_none; /* That of no particles; copied. Default NULL: zero bytes. */
  plait_moment_of_body add_body; /* Required with moments, as add_child and kernel. */
  plait_moment_of_child add_child;
  void* moment_argument; /* Of both. Must outlive the system. */
  int velocity; /* A field of three doubles, by which received trees drift in individual steps. Default -1: none. */
} plait_long_range_options;

int plait_long_range_options_init(plait_long_range_options* options, size_t size);
/* Adds a long-range interaction to the steps. Before the first step, as all functions that add. */
int plait_system_add_long_range(plait_system* system, const plait_long_range_options* options);

/* ---- Short-range interactions ---- */

enum { PLAIT_BLOCK_ARRAYS_MAX = 32 };

/* Particles gathered for a kernel, in single precision. Arrays are aligned to 64 bytes. */
typedef struct plait_block_particles {
  size_t count;
  size_t padded_count;        /* A multiple of 16, to which loops may run: padding is far away. */
  const float *x, *y, *z;     /* Relative to the centre of the block. */
  const float* const* values; /* An array for each field of the search, three for a vector. */
  const int32_t* places;      /* Of targets, in the store. NULL for sources. */
} plait_block_particles;

/* Some targets, and all particles that may be within reach of one, on any rank. */
typedef struct plait_pair_block {
  plait_store* store; /* To add results at the places of targets; other places must not be accessed. */
  double centre[3];
  plait_block_particles targets, sources;
} plait_pair_block;

/* Adds to the results of a block's targets. It must test the distance of each pair. A target whose kind is a source is
 * also among the sources, at distance 0. Called and ended as a plait_tree_kernel. */
typedef int (*plait_pair_kernel)(const plait_pair_block* block, void* argument);

typedef enum plait_search {
  PLAIT_GATHER = 0,   /* Sources within the target's reach. */
  PLAIT_SCATTER = 1,  /* Sources within whose reach the target is. */
  PLAIT_SYMMETRIC = 2 /* Sources within the larger reach. */
} plait_search;

/* Which pairs interact. Fields in lists have one double, one float or three doubles, or are PLAIT_KIND. Later versions
 * add fields at the end. */
typedef struct plait_short_range_options {
  size_t size;
  int search;                          /* A plait_search. Default: gather. */
  int reach;                           /* A field of one float: a distance. Required. */
  double reach_factor;                 /* Multiplies the reach. Default 1. */
  uint64_t source_kinds, target_kinds; /* A bit for each kind. Default: all. */
  size_t target_count, source_count, result_count;
  const int* targets;       /* Fields of targets in blocks. Copied, as the next two. */
  const int* sources;       /* Fields of sources in blocks. */
  const int* results;       /* Fields to which the kernel adds: set to zero before. Of any type. */
  plait_pair_kernel kernel; /* Required. */
  void* argument;           /* Must outlive the system. */
} plait_short_range_options;

int plait_short_range_options_init(plait_short_range_options* options, size_t size);
int plait_system_add_short_range(plait_system* system, const plait_short_range_options* options);

/* ---- Neighbours ---- */

/* The neighbours of each particle; a system owns them. */
typedef struct plait_neighbours plait_neighbours;

/* Which particles are neighbours: within a radius, also at exactly this distance. Later versions add fields at the end.
 */
typedef struct plait_neighbour_options {
  size_t size;
  int search;       /* A plait_search. Default: gather. */
  int radius_field; /* Each particle's: a field of one double or one float. Default -1: `radius` is that of all. */
  double radius;
  uint64_t source_kinds, target_kinds; /* A bit for each kind. Default: all. */
  size_t travel_count;
  const int* travels; /* The fields that imported particles have, beside position and id. Copied. */
} plait_neighbour_options;

int plait_neighbour_options_init(plait_neighbour_options* options, size_t size);
/* Each step and update finds neighbours, among the particles of all ranks. Adds a field to the store. */
int plait_system_add_neighbours(plait_system* system,
                                const plait_neighbour_options* options,
                                const plait_neighbours** neighbours);

/* Those of the particle at place i are indices[offsets[i]] to indices[offsets[i + 1] - 1], ascending: places in the
 * store or, from `count` on, `count` plus a place among imported particles, which other ranks own. */
typedef struct plait_neighbour_lists {
  size_t count; /* Of particles; there is one more offset. */
  const size_t* offsets;
  const int32_t* indices;
  size_t imported_count;
} plait_neighbour_lists;

/* Gives the lists of the last step, which are valid until the next one or a change of the store. */
int plait_neighbours_get(const plait_neighbours* neighbours, plait_neighbour_lists* lists);
/* Returns the values of a field of imported particles. NULL if there are none, or the field does not travel; then
 * plait_last_error() has a sentence. */
const void* plait_neighbours_imported_values(const plait_neighbours* neighbours, int field);

/* ---- Steps ---- */

/* Processes the particles at the places [first, last). Several workers call it for different ranges. Results as for
 * kernels. */
typedef int (*plait_range_function)(plait_store* store, size_t first, size_t last, void* argument);
/* Is called by one worker. */
typedef int (*plait_step_function)(plait_store* store, void* argument);

/* Add functions to the steps: before the sums, such as a drift, or after them, such as a kick; in the order of adding.
 * `kind` names their tasks in traces; copied. */
int plait_system_before(plait_system* system, const char* kind, plait_range_function function, void* argument);
int plait_system_after(plait_system* system, const char* kind, plait_range_function function, void* argument);
/* Adds a function to call once when all sums are complete, in steps and updates. */
int plait_system_when_summed(plait_system* system, plait_step_function function, void* argument);
/* Adds a kick-drift-kick leapfrog. `velocity` and `acceleration` are fields of three doubles. */
int plait_system_add_leapfrog(plait_system* system, int velocity, int acceleration, double time_step);

/* Changes the velocity of one particle by its forces over a duration. */
typedef struct plait_kick {
  int32_t place;
  double duration;
} plait_kick;

/* The parts of a program's own integrator. Several workers call them for different particles; results as for kernels.
 */
typedef int (*plait_drift_function)(plait_store* store, size_t first, size_t last, double duration, void* argument);
typedef int (*plait_kick_function)(plait_store* store, size_t count, const plait_kick* kicks, void* argument);

/* How particles move: half a kick and the drift before all sums, half a kick after them. By default a leapfrog. Later
 * versions add fields at the end. */
typedef struct plait_integrator {
  size_t size;
  int velocity;     /* A field of three doubles, by which positions drift. Required. */
  int acceleration; /* The same, which the leapfrog reads. Default -1: none. */
  int velocity_now; /* The same: the leapfrog's velocity at the time of positions, for forces that depend on it. Equal
                       to `velocity` at the start. Default -1: none. */
  plait_drift_function drift; /* Moves particles over a duration. Default NULL: the leapfrog's, with its kick. */
  plait_kick_function kick;   /* Required with `drift`. */
  plait_kick_function settle; /* Replaces predictions of `drift` when kicks have ended steps. May be NULL. */
  size_t predicted_count, force_count;
  const int* predicted; /* The fields besides positions that `drift` changes. Copied, as the next. */
  const int* forces;    /* The results of interactions that `kick` reads. */
  void* argument;       /* Of the three. Must outlive the system. */
} plait_integrator;

int plait_integrator_init(plait_integrator* integrator, size_t size);
/* Sets how particles move; one for each system. plait_system_add_leapfrog is this, and fixed steps. */
int plait_system_integrate(plait_system* system, const plait_integrator* integrator);

/* Sums all interactions at the present positions. The first one, or the first step, sends particles to their owners. */
int plait_system_update(plait_system* system);
/* Calls the functions of `before`, sends particles to their owners, sums all interactions and calls those of `after`.
 */
int plait_system_step(plait_system* system);
/* Decomposes the domain and sends all particles to their owners, from anywhere. */
int plait_system_distribute(plait_system* system);

/* ---- Steps of other lengths ---- */

typedef enum plait_step_lengths {
  PLAIT_FIXED_STEPS = 0,     /* Of one given length. */
  PLAIT_EQUAL_STEPS = 1,     /* All particles take the shortest step that any needs. */
  PLAIT_INDIVIDUAL_STEPS = 2 /* Each particle has its own. A step updates those whose steps end. */
} plait_step_lengths;

/* Criteria choose the lengths of steps that are not fixed: the span from `begin` to `end` over powers of two. Later
 * versions add fields at the end. */
typedef struct plait_time_steps {
  size_t size;
  int lengths;     /* A plait_step_lengths. Default: individual. */
  double step;     /* Of fixed steps. */
  double begin;    /* The time of the particles. Default 0. */
  double end;      /* The end of the last step. Default 1; fixed steps have none. */
  double step_max; /* Default: infinite. */
  double step_min; /* A particle that needs a shorter step ends the run. Default 0. */
} plait_time_steps;

int plait_time_steps_init(plait_time_steps* steps, size_t size);
/* Sets the lengths of steps. Adds fields to the store unless steps are fixed. */
int plait_system_take_steps(plait_system* system, const plait_time_steps* steps);

/* Sets longest[k] to the longest step that the particle places[k] may take now, if it is shorter than what it is. Any
 * worker calls it, concurrently for different particles. Results as for kernels. */
typedef int (*plait_step_criterion)(
    plait_store* store, size_t count, const int32_t* places, double* longest, void* argument);
/* Adds a criterion: the shortest of all counts. `argument` must outlive the system. */
int plait_system_limit_steps_by(plait_system* system, plait_step_criterion criterion, void* argument);

/* Changes active particles of one cell, at ascending places. Several workers call it for different cells. It must not
 * access other places. Results as for kernels. */
typedef int (*plait_stage_function)(plait_store* store, size_t count, const int32_t* places, void* argument);

/* A part of a step that begins on a cell when the stages before have ended near it: for active particles, at the time
 * of the step. Later versions add fields at the end. */
typedef struct plait_stage_options {
  size_t size;
  const char* name; /* Of its tasks in traces; copied. Required, not empty. So is the function. */
  uint64_t kinds;   /* A bit for each kind. Default: all. */
  size_t write_count;
  const int* writes; /* The fields that it changes. Copied. */
  plait_stage_function function;
  void* argument; /* Must outlive the system. */
} plait_stage_options;

int plait_stage_options_init(plait_stage_options* options, size_t size);
/* Adds stages, in the order of adding: of a function, or of sums over neighbours whose results later stages read. Steps
 * are then equal or individual. */
int plait_system_add_stage(plait_system* system, const plait_stage_options* options);
int plait_system_add_pair_stage(plait_system* system, const char* name, const plait_short_range_options* options);

/* Steps until `time` or the end of the steps is reached. */
int plait_system_run_until(plait_system* system, double time);
/* Drifts all particles to the present, with predictions, and sums long-range potentials. Between individual steps,
 * velocities are those of each particle's last kick. */
int plait_system_synchronise(plait_system* system);
/* The present time. */
double plait_system_time(const plait_system* system);
/* Whether the end of the steps is reached. */
int plait_system_is_over(const plait_system* system);

typedef struct plait_step_result {
  double time;           /* Of its end. */
  double length;         /* Since the step before. */
  uint64_t updated;      /* Particles of all ranks whose own step ended; 0 without individual steps and stages. */
  uint64_t updated_here; /* Those of this rank; all its particles without individual steps and stages. */
} plait_step_result;
/* Gives the result of the last plait_system_step; zeros before the first. */
int plait_system_last_step(const plait_system* system, plait_step_result* result);

/* ---- Sums, domains and costs ---- */

/* Replaces `values` by their sums over all ranks: equal on all, and in every run. */
int plait_system_sum(plait_system* system, size_t count, double* values);
/* The domain of this rank, in the coordinates of the options. */
int plait_system_domain(const plait_system* system, double low[3], double high[3]);

/* This rank's costs. Seconds of phases and of idle time are those of all workers. */
typedef struct plait_step_times {
  int64_t steps;
  double wall_seconds;
  double idle_seconds;
  double decompose_seconds;
  double exchange_seconds;
  double tree_seconds;
  double let_seconds;
  double walk_seconds;
  double kernel_seconds;
  double short_range_seconds;
  double other_seconds; /* The program's own functions. */
  int64_t interactions; /* Of pairs of bodies, and of bodies and cells. */
  int64_t let_bytes;    /* Sent. */
} plait_step_times;
/* Gives the costs since the last call. */
int plait_system_take_times(plait_system* system, plait_step_times* times);

#ifdef __cplusplus
}
#endif
