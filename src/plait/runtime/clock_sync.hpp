// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/endpoint.hpp"
#include "plait/trace/recorder.hpp"

namespace plait {

/// Measures, on each rank, the offset of its recorder's clock from that of rank 0, and records it.
///
/// Each rank in turn exchanges short messages with rank 0. Of several exchanges, the one with the shortest round trip
/// counts (Cristian's method); its error is at most half of that time. Collective. Throws: as
/// `Endpoint::progress_until`.
void record_clock_offset(comm::Endpoint& endpoint, trace::Recorder& recorder);

}  // namespace plait
