// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "plait/record/session.hpp"

namespace plait::record {

/// Measures what recording takes of this rank's processor: records some thousand calls that do nothing, in a trace of
/// its own in the new folder `scratch`, which it removes. They take sequence numbers of the session.
///
/// The calling thread is not recorded meanwhile. The caches are warm, so a call that follows long computing takes more.
/// Call paths and counters are not included. Throws: `Error` with `io` if it cannot write there. Cost: a few
/// milliseconds.
[[nodiscard]] trace::RecorderCostsEvent measure_own_cost(Session& session, const std::filesystem::path& scratch);

}  // namespace plait::record
