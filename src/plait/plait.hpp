// SPDX-License-Identifier: Apache-2.0
#pragma once

// All that an application needs. Nothing inside src/ includes this.

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/base/id.hpp"
#include "plait/base/topology.hpp"
#include "plait/comm/active_message.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/collectives/broadcast.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/runtime/gather.hpp"
#include "plait/runtime/options.hpp"
#include "plait/runtime/runtime.hpp"
#include "plait/task/boundary_bins.hpp"
#include "plait/task/copy.hpp"
#include "plait/task/flow/coroutine.hpp"
#include "plait/task/flow/data.hpp"
#include "plait/task/flow/data_grid.hpp"
#include "plait/task/flow/distribution.hpp"
#include "plait/task/flow/flow.hpp"
#include "plait/task/flow/options.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/partner_check.hpp"
#include "plait/task/resource.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/task/time_bins.hpp"
#include "plait/task/time_line.hpp"
#ifdef PLAIT_WITH_MPI
#include "plait/net/mpi/session.hpp"
#endif

namespace plait {

using comm::Address;
using comm::all_gather;
using comm::all_reduce;
using comm::all_to_all;
using comm::AllGatherWay;
using comm::AllToAllOptions;
using comm::AllToAllWay;
using comm::barrier;
using comm::blocks_of;
using comm::broadcast;
using comm::BroadcastOptions;
using comm::BroadcastWay;
using comm::column_group;
using comm::CommId;
using comm::Group;
using comm::HandlerId;
using comm::Maximum;
using comm::Minimum;
using comm::on;
using comm::post;
using comm::RankGrid;
using comm::reduce;
using comm::ReduceWay;
using comm::Request;
using comm::row_group;
using comm::Status;
using comm::Sum;
using task::Access;
using task::ActiveTasks;
using task::BlockCyclic;
using task::Boundary;
using task::BoundaryBins;
using task::check_partners;
using task::Claim;
using task::commute;
using task::Copier;
using task::CopyLimits;
using task::Coroutine;
using task::Data;
using task::DataGrid;
using task::Distribution;
using task::Fanout;
using task::Flow;
using task::FlowKind;
using task::FlowOptions;
using task::FlowStatistics;
using task::Graph;
using task::later;
using task::Later;
using task::line_ticks;
using task::r;
using task::ReadChecks;
using task::reduce;
using task::Resource;
using task::rw;
using task::Spawn;
using task::SubmitOptions;
using task::Submitted;
using task::Task;
using task::TaskContext;
using task::TaskKind;
using task::Ticks;
using task::ticks_of;
using task::TimeBin;
using task::TimeBins;
using task::TimeLine;
using task::w;
using task::WorkerTimes;
#ifdef PLAIT_WITH_MPI
using net::MpiSession;
#endif

}  // namespace plait
