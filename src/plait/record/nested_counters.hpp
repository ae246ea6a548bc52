// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/record/counters.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// What counters count in the regions and tasks of one thread, which may be nested. Threads: its own.
class NestedCounters {
 public:
  /// Throws: as `ThreadCounters`.
  NestedCounters(std::span<const CounterKind> kinds, trace::Recorder& recorder);

  void begin() { begun_.push_back(counters_.read()); }
  /// Records what was counted in a region or task that ends: the one that began last. `ended` has its name and times.
  /// Does nothing if none was counted.
  void end(trace::CountEvent ended, trace::ThreadRecorder& records);

 private:
  ThreadCounters counters_;
  std::vector<trace::NameId> names_;
  std::vector<Counts> begun_;  ///< The counts at the start of each region or task.
};

}  // namespace plait::record
