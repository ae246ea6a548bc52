// SPDX-License-Identifier: Apache-2.0
// Graphs of tasks.
#include "plait/task/graph.hpp"

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "plait/c/detail/convert.hpp"
#include "plait/c/detail/function.hpp"
#include "plait/c/guard.hpp"
#include "plait/c/handles.hpp"

namespace plait::c::detail {

namespace {

task::Task task_of(plait_task* handle) {
  require(handle != nullptr, "a task is NULL: use what plait_graph_task has given");
  return task::Task{*reinterpret_cast<task::detail::Node*>(handle)};
}

plait_task* handle_of(const task::Task& task) {
  return reinterpret_cast<plait_task*>(&task.node());
}

void require_kind(const char* kind) {
  require(kind != nullptr, "a task has no name: give its kind");
}

/// Calls `add`, and stores the handle of the task that it returns.
template <class Add>
int add_task(const char* kind, plait_task** task, Add add) {
  return guarded([&] {
    require_kind(kind);
    const task::Task added = add();
    if (task != nullptr) {
      *task = handle_of(added);
    }
  });
}

std::vector<task::Task> tasks_of(size_t count, plait_task* const* handles) {
  std::vector<task::Task> tasks;
  tasks.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    tasks.push_back(task_of(handles[i]));
  }
  return tasks;
}

}  // namespace
}  // namespace plait::c::detail

using namespace plait::c;
using namespace plait::c::detail;

extern "C" {

int plait_context_worker(const plait_context* context) {
  return reinterpret_cast<const plait::task::TaskContext*>(context)->worker().value();
}

int plait_graph_create(plait_runtime* runtime, plait_graph** graph) {
  return create(graph, [&] { return new plait_graph{*runtime}; });
}

int plait_graph_free(plait_graph** graph) {
  return destroy(graph);
}

int plait_graph_task(plait_graph* graph, const char* kind, plait_function function, void* argument, plait_task** task) {
  return add_task(kind, task, [&] {
    plait::require(function != nullptr, "a task has no function: give one, or use plait_graph_join");
    return graph->graph.task(kind, [function, argument](plait::task::TaskContext& context) {
      call_function(context, [&] { return function(reinterpret_cast<plait_context*>(&context), argument); });
    });
  });
}

int plait_graph_join(plait_graph* graph, const char* kind, plait_task** task) {
  return add_task(kind, task, [&] { return graph->graph.join(kind); });
}

int plait_graph_send(
    plait_graph* graph, const char* kind, const plait_layout* data, int to, int64_t tag, plait_task** task) {
  return add_task(kind, task, [&] {
    const plait::comm::Address address = destination(to, tag);
    if (const std::span<const std::byte> whole = contiguous_part(data); whole.size() == plait_layout_bytes(data)) {
      return graph->graph.send(kind, address, [whole] { return whole; });
    }
    return graph->graph.send(kind, address, [layout = layout_of(data)] { return layout; });
  });
}

int plait_graph_receive(
    plait_graph* graph, const char* kind, const plait_layout* buffer, int from, int64_t tag, plait_task** task) {
  return add_task(kind, task, [&] {
    const plait::comm::Address address = source(from, tag);
    if (const std::span<std::byte> whole = contiguous_part(buffer); whole.size() == plait_layout_bytes(buffer)) {
      return graph->graph.receive(kind, address, whole);
    }
    return graph->graph.receive(kind, address, layout_of(buffer));
  });
}

int plait_task_after(plait_task* task, plait_task* earlier) {
  return guarded([&] { task_of(task).after(task_of(earlier)); });
}

int plait_task_cost(plait_task* task, double seconds) {
  return guarded([&] {
    plait::require(seconds >= 0 && seconds < 1e9, "a task's cost is not a number of seconds from 0 to 1e9");
    task_of(task).cost(std::chrono::duration_cast<plait::nanoseconds>(std::chrono::duration<double>{seconds}));
  });
}

int plait_task_object(plait_task* task, uint64_t number) {
  return guarded([&] { task_of(task).object(number); });
}

int plait_task_locks(plait_task* task, plait_resource* resource) {
  return guarded([&] { task_of(task).locks(resource->resource); });
}

int plait_task_shares(plait_task* task, plait_resource* resource) {
  return guarded([&] { task_of(task).shares(resource->resource); });
}

int plait_resource_create(plait_resource* parent, plait_resource** resource) {
  return create(resource, [&] { return new plait_resource{parent}; });
}

int plait_resource_free(plait_resource** resource) {
  return destroy(resource);
}

int plait_graph_run(plait_graph* graph) {
  return guarded([&] { graph->runtime.run(graph->graph); });
}

int plait_graph_run_active(plait_graph* graph, size_t count, plait_task* const* active) {
  return guarded([&] { graph->runtime.run(graph->graph, tasks_of(count, active)); });
}
}
