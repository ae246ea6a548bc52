// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The part of the tools interface of OpenMP that the recorder uses: OpenMP Application Programming Interface 5.1,
/// sections 4.4 and 4.5, and its appendix B for the numbers. A compiler's omp-tools.h has all of it, but is not where
/// the recorder is built for a program of that compiler.
namespace plait::record::ompt {

/// ompt_data_t: what a tool attaches to a region or task.
union ToolData {
  std::uint64_t value;
  void* pointer;
};

enum class Event : int { parallel_begin = 3, parallel_end = 4, implicit_task = 7, sync_region_wait = 16 };
enum class ScopeEndpoint : int { begin = 1, end = 2, begin_and_end = 3 };
enum class Sync : int {
  barrier = 1,
  barrier_implicit = 2,
  barrier_explicit = 3,
  barrier_implementation = 4,
  barrier_implicit_workshare = 8,
  barrier_implicit_parallel = 9,
};
/// A flag of a task: of the implicit task of a region.
inline constexpr int task_implicit = 2;

using Function = void (*)();
using Lookup = Function (*)(const char* name);
using SetCallback = int (*)(Event event, Function callback);

/// ompt_start_tool_result_t.
struct Tool {
  int (*initialize)(Lookup lookup, int device, ToolData* tool);
  void (*finalize)(ToolData* tool);
  ToolData data;
};

}  // namespace plait::record::ompt
