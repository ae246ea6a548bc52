// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/request.hpp"
#include "plait/plait.h"
#include "plait/runtime/options.hpp"
#include "plait/runtime/runtime.hpp"
#include "plait/task/flow/data.hpp"
#include "plait/task/flow/flow.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/resource.hpp"

// What the handles of plait.h name: one object of the C++ interface each, for C interfaces of libraries above this one.

/// Threads: as `plait::Runtime`.
struct plait_runtime {
  plait_runtime(MPI_Comm communicator, const plait::Options& options) : runtime{communicator, options} {}
  plait::Runtime runtime;
};

struct plait_request {
  plait::comm::Request request;
};

struct plait_group {
  plait::comm::Group group;
};

struct plait_graph {
  explicit plait_graph(plait_runtime& its_runtime) : runtime{its_runtime.runtime} {}
  plait::Runtime& runtime;
  plait::task::Graph graph;
};

struct plait_resource {
  explicit plait_resource(plait_resource* parent) : resource{parent != nullptr ? &parent->resource : nullptr} {}
  plait::task::Resource resource;
};

struct plait_flow {
  explicit plait_flow(plait_runtime& runtime) : flow{runtime.runtime} {}
  plait::task::Flow flow;
};
