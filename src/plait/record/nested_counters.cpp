// SPDX-License-Identifier: Apache-2.0
#include "plait/record/nested_counters.hpp"

#include <algorithm>

namespace plait::record {

NestedCounters::NestedCounters(std::span<const CounterKind> kinds, trace::Recorder& recorder) : counters_{kinds} {
  for (const CounterKind& kind : kinds) {
    names_.push_back(recorder.name(trace::Role::counter, kind.name));
  }
}

void NestedCounters::end(trace::CountEvent ended, trace::ThreadRecorder& records) {
  if (begun_.empty()) {
    return;
  }
  const Counts now = counters_.read();
  ended.of_worker = records.worker();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    ended.counter = names_[i];
    ended.value = now[i] - std::min(begun_.back()[i], now[i]);  // scaled counts may fall
    records.count(ended);
  }
  begun_.pop_back();
}

}  // namespace plait::record
