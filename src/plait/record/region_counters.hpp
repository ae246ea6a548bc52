// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/record/counters.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// What counters count in the regions of one thread, which may be nested. Threads: its own.
class RegionCounters {
 public:
  /// Throws: as `ThreadCounters`.
  RegionCounters(std::span<const CounterKind> kinds, trace::Recorder& recorder);

  void begin() { begun_.push_back(counters_.read()); }
  /// Records what was counted in a region that ends: the one that began last. Does nothing if none was counted.
  void end(const trace::SpanEvent& region, trace::ThreadRecorder& records);

 private:
  ThreadCounters counters_;
  std::vector<trace::NameId> names_;
  std::vector<std::vector<std::uint64_t>> begun_;  ///< The counts at the start of each region.
};

}  // namespace plait::record
