/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C99 that uses every part of plait.h, on any number of ranks. It prints nothing when all is right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plait/plait.h"

static int failures = 0;

static void check(int is_right, const char* what, int line) {
  if (!is_right) {
    fprintf(stderr, "plain.c:%d: %s: %s\n", line, what, plait_last_error());
    ++failures;
  }
}
#define CHECK(fact) check((fact), #fact, __LINE__)
#define CHECK_DONE(call) check((call) == PLAIT_SUCCESS, #call, __LINE__)

static void send_a_column(plait_runtime* runtime) {
  const int next = (plait_rank(runtime) + 1) % plait_rank_count(runtime);
  double from[4][5];
  double to[4] = {0, 0, 0, 0};
  plait_request* requests[2];
  plait_status statuses[2];
  const plait_layout column = plait_strided(&from[0][2], sizeof(double), sizeof from[0], 4);
  int i;
  for (i = 0; i < 4; ++i) {
    from[i][2] = 10 * plait_rank(runtime) + i;
  }
  CHECK(plait_layout_bytes(&column) == sizeof to);
  CHECK_DONE(plait_receive(runtime, to, sizeof to, PLAIT_ANY_SOURCE, 7, &requests[0]));
  CHECK_DONE(plait_send_layout(runtime, &column, next, 7, &requests[1]));
  CHECK_DONE(plait_wait_all(2, requests, statuses));
  CHECK(requests[0] == NULL && statuses[0].bytes == sizeof to && statuses[0].tag == 7);
  CHECK(to[3] == 10 * statuses[0].source + 3);
}

static void combine(plait_runtime* runtime) {
  plait_group* group = NULL;
  int32_t one = 1;
  CHECK_DONE(plait_group_create(runtime, 0, NULL, &group));
  CHECK_DONE(plait_all_reduce(group, &one, 1, PLAIT_INT32, PLAIT_SUM, NULL));
  CHECK(one == plait_rank_count(runtime));
  CHECK_DONE(plait_group_free(&group));
  CHECK(group == NULL);
}

static int add_one(plait_context* context, void* argument) {
  plait_region_begin("add");
  *(int*)argument += plait_context_worker(context) >= 0;
  plait_region_end();
  return 0;
}

static void run_a_graph(plait_runtime* runtime) {
  plait_graph* graph = NULL;
  plait_task* first = NULL;
  plait_task* second = NULL;
  int count = 0;
  CHECK_DONE(plait_graph_create(runtime, &graph));
  CHECK_DONE(plait_graph_task(graph, "add", add_one, &count, &first));
  CHECK_DONE(plait_graph_task(graph, "add", add_one, &count, &second));
  CHECK_DONE(plait_task_after(second, first));
  CHECK_DONE(plait_graph_run(graph));
  CHECK(count == 2);
  CHECK_DONE(plait_graph_run_active(graph, 1, &second));
  CHECK(count == 3);
  CHECK_DONE(plait_graph_free(&graph));
}

static int fill(const plait_memory* memory, void* argument) {
  *(int*)memory[0].first = *(const int*)argument;
  return 0;
}

static int copy(const plait_memory* memory, void* argument) {
  (void)argument;
  memcpy(memory[1].first, memory[0].first, memory[1].bytes);
  return 0;
}

static void run_a_flow(plait_runtime* runtime) {
  plait_flow* flow = NULL;
  plait_data* from = NULL;
  plait_data* to = NULL;
  const int last = plait_rank_count(runtime) - 1;
  int number = 42;
  int here = 0;
  plait_submission task;
  plait_access accesses[2];
  CHECK_DONE(plait_flow_create(runtime, &flow));
  CHECK_DONE(plait_flow_data(flow, 0, sizeof(int), NULL, &from));
  CHECK_DONE(plait_flow_data(flow, last, sizeof(int), &here, &to));
  memset(&task, 0, sizeof task);
  task.kind = "fill";
  task.function = fill;
  task.argument = &number;
  task.argument_bytes = sizeof number;
  accesses[0].data = from;
  accesses[0].mode = PLAIT_WRITE;
  CHECK_DONE(plait_flow_submit(flow, &task, 1, accesses));
  number = 0; /* the task has a copy */
  memset(&task, 0, sizeof task);
  task.kind = "copy";
  task.function = copy;
  accesses[0].mode = PLAIT_READ;
  accesses[1].data = to;
  accesses[1].mode = PLAIT_WRITE;
  CHECK_DONE(plait_flow_submit(flow, &task, 2, accesses));
  CHECK_DONE(plait_flow_wait(flow));
  CHECK(here == (plait_rank(runtime) == last ? 42 : 0));
  CHECK_DONE(plait_flow_free(&flow));
}

int main(int argc, char** argv) {
  plait_runtime* runtime = NULL;
  plait_options options;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  CHECK(plait_version()[0] != '\0');
  CHECK_DONE(plait_options_init(&options, sizeof options));
  options.workers = 2;
  options.program = "plain";
  CHECK_DONE(plait_runtime_create(MPI_COMM_WORLD, &options, &runtime));
  if (runtime == NULL) {
    return EXIT_FAILURE;
  }
  plait_region_begin("all");
  CHECK(plait_worker_count(runtime) == 2);
  CHECK_DONE(plait_progress(runtime));
  send_a_column(runtime);
  combine(runtime);
  run_a_graph(runtime);
  run_a_flow(runtime);
  CHECK(plait_send(runtime, NULL, 0, -5, 1, NULL) == PLAIT_BAD_ARGUMENT);
  CHECK(strstr(plait_last_error(), "rank -5") != NULL);
  plait_region_end();
  CHECK_DONE(plait_runtime_free(&runtime));
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
