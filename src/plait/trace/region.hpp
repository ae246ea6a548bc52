// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "plait/trace/recorder.hpp"

namespace plait::trace {

/// Records the time from its construction to the end of its scope under a name, for reports.
///
///     const plait::trace::Region region{runtime.trace(), "solve", step};
///     MPI_Allreduce(...);
///
/// It is a span of worker 0. Borrows the recorder. Threads: the one that runs graphs, between them. Cost: two locks and
/// an event, about 0.2 us; nothing when tracing is off.
class Region {
 public:
  Region(Recorder& trace, std::string_view name, std::uint64_t step = 0)
      : trace_{trace}, is_on_{trace.is_on()}, span_{.step = static_cast<std::uint32_t>(step)} {
    if (is_on_) {
      span_.name = trace.name(Role::span, name);
      span_.start = trace.now();
      trace.region_begins(span_.name, span_.start, WorkerId{0});
    }
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    if (is_on_) {
      span_.end = trace_.now();
      trace_.thread(WorkerId{0}, "").span(span_);
    }
  }

 private:
  Recorder& trace_;
  bool is_on_;
  SpanEvent span_;
};

}  // namespace plait::trace
