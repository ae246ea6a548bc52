// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plait/replay/predict/platform.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Writes the exchange as time-independent traces for SimGrid's SMPI, and the files to simulate them:
///
///   rank-0000.ti ...  one for each rank: `0 irecv 63 0 8192 6` (from rank 63, tag 0, 8192 elements of type 6, bytes)
///   trace.txt         the names of these files, for `-replay`
///   hosts.txt         the host of each rank, for `-hostfile`
///   platform.xml      hosts of 1 Gflop/s on one switch, with the latencies and bandwidths of `platform`
///
/// To simulate: `smpirun -np N -platform platform.xml -hostfile hosts.txt -replay trace.txt`. Computing is one flop per
/// nanosecond. Collectives are written as messages. A rank has one thread there, so its streams are merged in the order
/// of the log; the returned sentences report this. Throws: `Error` with `io`.
std::vector<std::string> write_simgrid(const Schedule& schedule,
                                       const Platform& platform,
                                       const std::filesystem::path& folder);

}  // namespace plait::replay
