// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/base/id.hpp"
#include "plait/runtime/runtime.hpp"

/// Which trace and worker the regions of a thread belong to.
///
/// The functions of regions have no argument that could lead to a runtime, so the last one that was created, and has a
/// trace, is a global variable.
namespace plait::c::detail {

/// Records regions of the calling thread as worker 0 of `runtime`, if it has a trace.
void record_regions(Runtime& runtime) noexcept;
/// Ends that, before `runtime` ends.
void end_regions(Runtime& runtime) noexcept;

/// While it lives, regions of this thread belong to worker `worker`, which calls a function of the program.
class RegionsOfWorker {
 public:
  explicit RegionsOfWorker(WorkerId worker) noexcept;
  RegionsOfWorker(const RegionsOfWorker&) = delete;
  RegionsOfWorker& operator=(const RegionsOfWorker&) = delete;
  ~RegionsOfWorker();

 private:
  WorkerId before_;
};

}  // namespace plait::c::detail
