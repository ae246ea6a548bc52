/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * plait for C: messages, collectives, regions, graphs of tasks and task flow, over an MPI communicator. One header, as
 * programs in C expect it: each part has a heading of its own.
 *
 * Results. Functions return PLAIT_SUCCESS (0) or an error of `plait_error`, unless documented otherwise. After an error
 * plait_last_error() has the sentence: what is wrong, where, and what to do. Results given by pointer are then
 * unchanged. No C++ exception leaves the library. Every function accepts what it documents only: pointers that are not
 * documented as "may be NULL" must be valid.
 *
 * Handles. A function `plait_X_create` creates an object, which the caller owns and `plait_X_free` destroys; freeing
 * sets the handle to NULL, and freeing NULL does nothing. What a handle was created from must outlive it: free
 * requests, graphs, flows, groups and resources before their runtime, and the runtime before MPI_Finalize.
 *
 * Threads. Functions on messages, requests and plait_progress may be called by any thread, one at a time for each
 * request. All others are called by the thread that has created the runtime. Regions: see there.
 *
 * Memory. Bytes of a message belong to the library from the call until its request is complete; after an error of the
 * run, until the runtime is freed.
 */

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions and errors ---- */

/* Returns the version, such as "0.2.0"; static memory. */
const char* plait_version(void);

/* Errors. New ones may be added at the end. */
typedef enum plait_error {
  PLAIT_SUCCESS = 0,
  PLAIT_BAD_ARGUMENT = 1,  /* An argument is invalid. */
  PLAIT_BAD_INPUT = 2,     /* A file or an option is missing, malformed or contradicts another. */
  PLAIT_IO = 3,            /* The system refused to read or write. */
  PLAIT_TRUNCATED = 4,     /* A message was longer than the memory of its receive. */
  PLAIT_OUT_OF_MEMORY = 5, /* No memory is left. */
  PLAIT_NETWORK = 6,       /* The network failed. */
  PLAIT_PEER_FAILED = 7,   /* Another rank stopped the run; the sentence is its own. */
  PLAIT_TIMEOUT = 8,       /* No progress within the time limit. */
  PLAIT_USER_TASK = 9,     /* A function of the program has returned an error. */
  PLAIT_UNKNOWN = 10       /* A defect of the library: please report it. */
} plait_error;

/* Returns what an error means in a few words; static memory. Never NULL. */
const char* plait_error_text(int error);
/* Returns the sentence of the last error of the calling thread, or "". Valid until the thread's next error. */
const char* plait_last_error(void);
/* Sets the last error of the calling thread and returns `error`: for functions of tasks, as in
 *     return plait_fail(PLAIT_USER_TASK, "the matrix is not positive definite: try a larger shift");
 */
int plait_fail(int error, const char* sentence);

/* ---- Runtimes ---- */

/* One rank of a parallel program: its network, workers and trace. */
typedef struct plait_runtime plait_runtime;

/* Which threads poll the network while the program computes; docs/explanation/progression.md compares them. */
typedef enum plait_progression {
  PLAIT_PROGRESSION_UNSET = 0,
  PLAIT_PROGRESSION_AUTOMATIC = 1,
  PLAIT_PROGRESSION_NONE = 2,     /* Messages move only while the program calls the library. */
  PLAIT_PROGRESSION_TIMER = 3,    /* One thread, periodically. */
  PLAIT_PROGRESSION_IDLE = 4,     /* A thread on each core that runs when the core has nothing else to do. */
  PLAIT_PROGRESSION_DEDICATED = 5 /* One thread with a core of its own. */
} plait_progression;

/* Settings of a runtime. What plait_options_init leaves unset is read from the environment (PLAIT_WORKERS, PLAIT_TRACE,
 * ...), as `plait run` sets it, and has plait's defaults otherwise. Later versions add fields at the end. */
typedef struct plait_options {
  size_t size;              /* Of this structure, in the version that the program was compiled with. */
  int workers;              /* Computing threads of each rank, the calling one included. 0: unset. */
  int progression;          /* A plait_progression. */
  const char* trace_folder; /* Where the trace is written. NULL: unset; "": no trace. Borrowed, as the next two. */
  const char* network;      /* "automatic", "mpi", "shm" or "ofi". NULL: unset. */
  const char* program;      /* The program's name in the trace. NULL: unset. */
  double stall_seconds;     /* A run without progress for this time ends with an error. 0: no limit. Negative: unset. */
} plait_options;

/* Leaves every setting unset. `size`: sizeof(plait_options). */
int plait_options_init(plait_options* options, size_t size);

/* Creates a runtime over the ranks of `communicator`, which is borrowed. Collective. `options` may be NULL.
 *
 * MPI must be initialised, with at least MPI_THREAD_FUNNELED for one worker, and MPI_THREAD_SERIALIZED for more or for
 * progression in the background. */
int plait_runtime_create(MPI_Comm communicator, const plait_options* options, plait_runtime** runtime);
/* As above, with the handle that Fortran has. */
int plait_runtime_create_f(MPI_Fint communicator, const plait_options* options, plait_runtime** runtime);
/* Waits until all sends are flushed and all ranks have arrived, and closes the network. Collective. After a failure of
 * the run it waits for no rank. */
int plait_runtime_free(plait_runtime** runtime);

/* This rank in the communicator, from 0. */
int plait_rank(const plait_runtime* runtime);
int plait_rank_count(const plait_runtime* runtime);
int plait_worker_count(const plait_runtime* runtime);

/* Makes a bounded amount of progress. Returns PLAIT_SUCCESS, or the error that has stopped the run. Cost: below 1 us
 * when nothing happens. */
int plait_progress(plait_runtime* runtime);

/* ---- Memory of messages ---- */

enum { PLAIT_DIMENSIONS_MAX = 15 };

/* Contiguous or regularly strided memory. The message has the blocks in order, the first dimension fastest. Sender and
 * receiver may have different layouts of one size. */
typedef struct plait_layout {
  void* first;                             /* The first block. */
  size_t block_bytes;                      /* Of each block. */
  int dimensions;                          /* 0: one block. */
  size_t counts[PLAIT_DIMENSIONS_MAX];     /* Blocks in each dimension. */
  ptrdiff_t strides[PLAIT_DIMENSIONS_MAX]; /* Bytes from a block to the next in each dimension; may be negative. */
} plait_layout;

/* Returns the layout of `bytes` contiguous bytes. */
plait_layout plait_contiguous(const void* first, size_t bytes);
/* Returns the layout of `count` blocks at a stride: a column of a matrix, a face of a box. */
plait_layout plait_strided(const void* first, size_t block_bytes, ptrdiff_t stride_bytes, size_t count);
/* Appends a dimension: `count` times what `layout` has, at a stride. Returns PLAIT_BAD_ARGUMENT above
 * PLAIT_DIMENSIONS_MAX. */
int plait_layout_repeat(plait_layout* layout, ptrdiff_t stride_bytes, size_t count);
/* Returns the bytes of a message. */
size_t plait_layout_bytes(const plait_layout* layout);

/* ---- Messages ---- */

enum { PLAIT_ANY_SOURCE = -1, PLAIT_ANY_TAG = -1 };

/* An operation under way. NULL is one that is complete. */
typedef struct plait_request plait_request;

typedef struct plait_status {
  int source;   /* Of a send: this rank. -1: none. */
  int error;    /* PLAIT_SUCCESS, PLAIT_TRUNCATED, ... */
  int64_t tag;  /* -1: none. */
  size_t bytes; /* Length of the message, also if it was truncated. */
} plait_status;

/* Start a send or a receive. Messages from a rank match in the order of sending. `to`, `from`: ranks; `tag`: 0 or more;
 * for a receive PLAIT_ANY_SOURCE and PLAIT_ANY_TAG.
 *
 * `request` gets a handle, which plait_wait, plait_test or plait_cancel frees. If `request` is NULL, the call waits
 * until the operation is complete. Layouts are copied. Cost of a handle: an allocation. */
int plait_send(plait_runtime* runtime, const void* data, size_t bytes, int to, int64_t tag, plait_request** request);
int plait_send_layout(plait_runtime* runtime, const plait_layout* data, int to, int64_t tag, plait_request** request);
int plait_receive(plait_runtime* runtime, void* buffer, size_t bytes, int from, int64_t tag, plait_request** request);
int plait_receive_layout(
    plait_runtime* runtime, const plait_layout* buffer, int from, int64_t tag, plait_request** request);

/* Reports whether a message has arrived that such a receive would get, and which. `status` may be NULL. */
int plait_probe(plait_runtime* runtime, int from, int64_t tag, int* has_arrived, plait_status* status);

/* Waits until the operation is complete: its memory belongs to the caller again. Frees the request, also when it
 * returns an error. `status` may be NULL. */
int plait_wait(plait_request** request, plait_status* status);
/* Makes progress once, and then as plait_wait if the operation is complete. */
int plait_test(plait_request** request, int* is_complete, plait_status* status);
/* Waits for all, and returns the first error. `statuses` has `count` elements or is NULL. */
int plait_wait_all(size_t count, plait_request** requests, plait_status* statuses);
/* Cancels a receive that has no message yet, and frees the request. Otherwise sets `is_cancelled` to 0, and the
 * operation must be waited for. */
int plait_cancel(plait_request** request, int* is_cancelled);

/* ---- Collectives ---- */

/* An ordered set of ranks, this one included. Its members call the same collectives in the same order; they need not
 * wait for one before they call the next. */
typedef struct plait_group plait_group;

/* Creates a group of `count` ranks. Every rank of the runtime creates one at this point, and these are disjoint. With
 * count 0, of all ranks. Sends no message. */
int plait_group_create(plait_runtime* runtime, size_t count, const int* ranks, plait_group** group);
int plait_group_free(plait_group** group);
size_t plait_group_size(const plait_group* group);
/* This rank's place in the group, from 0. */
size_t plait_group_self(const plait_group* group);

typedef enum plait_type {
  PLAIT_INT32 = 0,
  PLAIT_INT64 = 1,
  PLAIT_FLOAT = 2,
  PLAIT_DOUBLE = 3,
  PLAIT_FLOAT_COMPLEX = 4, /* Sums only. */
  PLAIT_DOUBLE_COMPLEX = 5 /* Sums only. */
} plait_type;

typedef enum plait_operation { PLAIT_SUM = 0, PLAIT_MINIMUM = 1, PLAIT_MAXIMUM = 2 } plait_operation;

/* Start a collective; `request` as for messages. `root`: a place in the group. Members give the same sizes, types,
 * operations and roots; a member that does not gets PLAIT_TRUNCATED or PLAIT_BAD_ARGUMENT. */
int plait_barrier(plait_group* group, plait_request** request);
/* Copies the root's `data` to all members. */
int plait_broadcast(plait_group* group, size_t root, void* data, size_t bytes, plait_request** request);
/* Gathers the `bytes` bytes of each member in `all`, in the order of members. In place if `mine` is its own block. */
int plait_all_gather(plait_group* group, const void* mine, size_t bytes, void* all, plait_request** request);
/* Sends block i of `to` to member i, and receives block i of `from` from it: `bytes` bytes each. */
int plait_all_to_all(plait_group* group, const void* to, void* from, size_t bytes, plait_request** request);
/* As above, with contiguous blocks of `to_bytes[i]` and `from_bytes[i]` bytes. */
int plait_all_to_all_blocks(plait_group* group,
                            const void* to,
                            const size_t* to_bytes,
                            void* from,
                            const size_t* from_bytes,
                            plait_request** request);
/* Combines, by a plait_operation, `count` elements of a plait_type of `mine` of all members into the root's `result`;
 * others' `result` may be NULL. The result is the same in every run, bit by bit. */
int plait_reduce(plait_group* group,
                 size_t root,
                 const void* mine,
                 void* result,
                 size_t count,
                 int type,
                 int operation,
                 plait_request** request);
/* As plait_reduce, of `data`, which then has the result on every member. */
int plait_all_reduce(plait_group* group, void* data, size_t count, int type, int operation, plait_request** request);

/* ---- Regions ---- */

/* Names a part of the program's time for reports, from begin to the matching end in the same thread. Regions nest.
 *
 * They are recorded under `plait record`, and in the trace of a runtime: on the thread that has created it, and in
 * functions of tasks. Elsewhere they do nothing. Threads: any. Errors: none; an end without a begin is ignored. Cost:
 * below a microsecond when recorded, else some nanoseconds. */
void plait_region_begin(const char* name);
void plait_region_end(void);

/* ---- Graphs of tasks ---- */

/* Tasks and their dependencies. A graph is built once; each run activates all of it or a part. */
typedef struct plait_graph plait_graph;
/* A task of a graph; owned by it. */
typedef struct plait_task plait_task;
/* Data that several tasks may read or one may modify. */
typedef struct plait_resource plait_resource;
/* A task that runs. Valid during the call of its function. */
typedef struct plait_context plait_context;

/* The function of a task, called by any worker. A result other than 0 ends the run on all ranks: plait_graph_run then
 * returns that error if it is a plait_error with a sentence in plait_last_error(), else PLAIT_USER_TASK. */
typedef int (*plait_function)(plait_context* context, void* argument);

/* The worker that runs the task, from 0: for memory of each thread. */
int plait_context_worker(const plait_context* context);

int plait_graph_create(plait_runtime* runtime, plait_graph** graph);
/* Not while it runs. */
int plait_graph_free(plait_graph** graph);

/* Add a task. `kind` is its name in traces and errors; copied. `task` may be NULL. `argument` must be valid whenever
 * the graph runs. */
int plait_graph_task(plait_graph* graph, const char* kind, plait_function function, void* argument, plait_task** task);
/* Adds a task that does nothing itself: it joins its predecessors. */
int plait_graph_join(plait_graph* graph, const char* kind, plait_task** task);
/* Adds a task that sends, or receives, a message. It occupies no worker. Both ranks of a message must activate their
 * ends. */
int plait_graph_send(
    plait_graph* graph, const char* kind, const plait_layout* data, int to, int64_t tag, plait_task** task);
int plait_graph_receive(
    plait_graph* graph, const char* kind, const plait_layout* buffer, int from, int64_t tag, plait_task** task);

/* Starts `task` after `earlier` has ended, if both are active. */
int plait_task_after(plait_task* task, plait_task* earlier);
/* Sets the expected duration, which orders tasks until the task has been measured: those with the longest way to the
 * end of the graph start first, and those that lead to a send precede all others. */
int plait_task_cost(plait_task* task, double seconds);
/* Sets the number that traces show as the task's object. */
int plait_task_object(plait_task* task, uint64_t number);
/* Locks, or shares, `resource` while the task runs. Not for send and receive tasks. */
int plait_task_locks(plait_task* task, plait_resource* resource);
int plait_task_shares(plait_task* task, plait_resource* resource);

/* Creates a resource. A lock of one covers all below it: `parent` is the one above, or NULL, and must outlive it. */
int plait_resource_create(plait_resource* parent, plait_resource** resource);
int plait_resource_free(plait_resource** resource);

/* Runs all tasks, or the `count` active ones, and waits for them. */
int plait_graph_run(plait_graph* graph);
int plait_graph_run_active(plait_graph* graph, size_t count, plait_task* const* active);

/* ---- Task flow ---- */

/* A sequential program whose tasks run in parallel on all ranks. Every rank creates the same data and submits the same
 * tasks in the same order; dependencies and messages follow from the data that tasks access. */
typedef struct plait_flow plait_flow;
/* An array that one rank owns and every rank can access; owned by its flow. */
typedef struct plait_data plait_data;

int plait_flow_create(plait_runtime* runtime, plait_flow** flow);
/* Ends the run on all ranks if tasks are under way: call plait_flow_wait before. */
int plait_flow_free(plait_flow** flow);

/* Creates data of `bytes` bytes; the same call on every rank. `memory` of the owner has its value and outlives the
 * flow; others' is ignored. If it is NULL, the owner allocates uninitialised memory. */
int plait_flow_data(plait_flow* flow, int owner, size_t bytes, void* memory, plait_data** data);
/* Gives the owner's memory, to set before the first task and to read after plait_flow_wait. PLAIT_BAD_ARGUMENT on other
 * ranks, and while tasks may use it. */
int plait_data_local(plait_data* data, void** memory);

/* How a task accesses data. */
typedef enum plait_mode {
  PLAIT_READ = 0,
  PLAIT_WRITE = 1, /* Overwrites: the function gets undefined values. */
  PLAIT_READ_WRITE = 2,
  PLAIT_COMMUTE = 3 /* Reads and writes; successive tasks that commute run one at a time, in any order. */
} plait_mode;
typedef struct plait_access {
  plait_data* data;
  int mode; /* A plait_mode. */
} plait_access;

/* Memory that a function of a flow gets for an access. What is only read must not be written. */
typedef struct plait_memory {
  void* first;
  size_t bytes;
} plait_memory;

/* The function of a flow's task: `memory` has an element for each access. Results as for plait_function. */
typedef int (*plait_flow_function)(const plait_memory* memory, void* argument);

/* What a submitted task is; set what is not used to 0. */
typedef struct plait_submission {
  const char* kind; /* Its name in traces and errors. NULL: "task". */
  plait_flow_function function;
  void* argument;        /* Given to the function. */
  size_t argument_bytes; /* Above 0: a copy of so many bytes of `argument` is given; 0: the pointer itself. */
  int priority;          /* Of ready tasks, those of higher priority run first, and their messages are sent first. */
  int runs_elsewhere;    /* 0: on the owner of the first data that it writes, or else of its first. 1: on `rank`. */
  int rank;
} plait_submission;

/* Submits a task. May execute tasks when many are waiting. */
int plait_flow_submit(plait_flow* flow, const plait_submission* submission, size_t count, const plait_access* accesses);
/* Returns the value to its owner, and drops copies, after the tasks submitted so far. */
int plait_flow_flush(plait_flow* flow, plait_data* data);
/* Executes tasks until all submissions have ended on every rank; then each owner has its values. After an error the
 * flow can only be freed. */
int plait_flow_wait(plait_flow* flow);

#ifdef __cplusplus
}
#endif
