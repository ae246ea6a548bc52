// SPDX-License-Identifier: Apache-2.0
// Made from schema.toml by tools/make_trace_code.py: edit that.
#include "plait/trace/thread_recorder.hpp"

#include "plait/trace/detail/encode.hpp"
#include "plait/trace/detail/event_profile.hpp"

namespace plait::trace {

template <class Event>
void ThreadRecorder::write(const Event& event) noexcept {
  if (profile_ == nullptr || profile_->keeps(event, *this)) {
    detail::encode(event, *this);
  }
}

template void ThreadRecorder::write(const TaskEvent&) noexcept;
template void ThreadRecorder::write(const MessageEvent&) noexcept;
template void ThreadRecorder::write(const SpanEvent&) noexcept;
template void ThreadRecorder::write(const PollGapEvent&) noexcept;
template void ThreadRecorder::write(const CounterEvent&) noexcept;
template void ThreadRecorder::write(const ClockEvent&) noexcept;
template void ThreadRecorder::write(const GraphTaskEvent&) noexcept;
template void ThreadRecorder::write(const GraphRunEvent&) noexcept;
template void ThreadRecorder::write(const CallEvent&) noexcept;
template void ThreadRecorder::write(const CommunicatorEvent&) noexcept;
template void ThreadRecorder::write(const SharesEvent&) noexcept;
template void ThreadRecorder::write(const EngineEvent&) noexcept;
template void ThreadRecorder::write(const OpenRegionEvent&) noexcept;
template void ThreadRecorder::write(const SampleEvent&) noexcept;
template void ThreadRecorder::write(const CountEvent&) noexcept;
template void ThreadRecorder::write(const SumEvent&) noexcept;
template void ThreadRecorder::write(const SumTimesEvent&) noexcept;
template void ThreadRecorder::write(const WindowEvent&) noexcept;
template void ThreadRecorder::write(const ProfileStateEvent&) noexcept;
template void ThreadRecorder::write(const FlowTaskEvent&) noexcept;
template void ThreadRecorder::write(const GraphClaimsEvent&) noexcept;
template void ThreadRecorder::write(const EngineSumEvent&) noexcept;
template void ThreadRecorder::write(const CollectiveLayoutEvent&) noexcept;
template void ThreadRecorder::write(const TaskOrderEvent&) noexcept;
template void ThreadRecorder::write(const BackgroundTimeEvent&) noexcept;
template void ThreadRecorder::write(const RecorderCostsEvent&) noexcept;

}  // namespace plait::trace
