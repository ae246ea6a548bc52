// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/endpoint.hpp"
#include "plait/trace/recorder.hpp"

namespace plait {

/// Finds, on each rank, what to add to its recorder's time to get the time of rank 0's, and records it.
///
/// Each rank in turn exchanges short messages with rank 0 (Cristian's method: of several exchanges the one with the
/// shortest round trip tells best, with an error of at most half of it). Every rank calls it; throws as
/// `Endpoint::progress_until`.
void record_clock_offset(comm::Endpoint& endpoint, trace::Recorder& recorder);

}  // namespace plait
