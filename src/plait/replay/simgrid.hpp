// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plait/replay/predict/platform.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Writes the exchange as time-independent traces of SimGrid's SMPI, with what it takes to run them:
///
///   rank-0000.ti ...  one a rank: `0 irecv 63 0 8192 6` (receive from 63 with tag 0, 8192 of datatype 6, bytes)
///   trace.txt        the names of these, for `-replay`
///   hosts.txt         the host of each rank, for `-hostfile`
///   platform.xml      hosts of 1 Gflop/s on one switch, with `platform`'s latency and bandwidth between hosts, and
///   within one
///
/// Run there: `smpirun -np N -platform platform.xml -hostfile hosts.txt -replay trace.txt`. Computing is one flop a
/// nanosecond. Collectives are written as messages; the streams of a rank in one, as they were logged, since a rank has
/// one thread there. Returns what is lost that way, in sentences. Throws: `Error` with `io`.
std::vector<std::string> write_simgrid(const Schedule& schedule,
                                       const Platform& platform,
                                       const std::filesystem::path& folder);

}  // namespace plait::replay
