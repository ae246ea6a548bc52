// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "plait/record/pending.hpp"
#include "plait/record/progress.hpp"

namespace plait::record {

/// Whether the environment asks for progress (PLAIT_RECORD_PROGRESS is set and not 0).
[[nodiscard]] bool is_progress_wanted();

/// Why there can be no progress in the background with this MPI, initialised as it is; empty when there can.
[[nodiscard]] std::string why_no_progress();

/// A thread that polls this process's MPI; nothing where that cannot be (`why_no_progress`). MPI is
/// initialised, and is finalised only after the thread has been stopped. Not collective.
[[nodiscard]] std::unique_ptr<Progress> start_progress(Pending& pending);

}  // namespace plait::record
