// SPDX-License-Identifier: Apache-2.0
#include "plait/record/region_counters.hpp"

#include <algorithm>

namespace plait::record {

RegionCounters::RegionCounters(std::span<const CounterKind> kinds, trace::Recorder& recorder) : counters_{kinds} {
  for (const CounterKind& kind : kinds) {
    names_.push_back(recorder.name(trace::Role::counter, kind.name));
  }
}

void RegionCounters::end(const trace::SpanEvent& region, trace::ThreadRecorder& records) {
  if (begun_.empty()) {
    return;
  }
  const std::vector<std::uint64_t> now = counters_.read();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::uint64_t before = begun_.back()[i];
    records.count({.of_worker = records.worker(),
                   .counter = names_[i],
                   .region = region.name,
                   .start = region.start,
                   .end = region.end,
                   .value = now[i] - std::min(before, now[i])});  // scaled counts may fall
  }
  begun_.pop_back();
}

}  // namespace plait::record
