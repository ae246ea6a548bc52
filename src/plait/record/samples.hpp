// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <sys/types.h>

#include "plait/record/sampler.hpp"
#include "plait/record/sites.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// What `RecordedSamples` needs of the recording; borrowed.
struct SampledRecording {
  trace::Recorder& recorder;
  Sites& sites;
  /// The number of a thread of the kernel in the trace; 65535 if it has none. Threads: any.
  std::function<std::uint16_t(pid_t)> worker_of;
  bool may_report = false;  ///< Whether this rank prints what the user must know.
};

/// Samples of all threads, as records of the trace. The destructor records the last ones.
class RecordedSamples {
 public:
  /// Throws: as `Sampler`.
  RecordedSamples(SampledRecording recording, const SamplerOptions& options);
  RecordedSamples(const RecordedSamples&) = delete;
  RecordedSamples& operator=(const RecordedSamples&) = delete;
  ~RecordedSamples();

 private:
  SampledRecording recording_;
  trace::ThreadRecorder& records_;
  Sampler sampler_;
};

/// Starts to record samples if the environment requests them: PLAIT_RECORD_SAMPLE has samples a second. They come from
/// the perf interface or, where that is not permitted, from timers. If that fails as well, prints the reason on stderr
/// and returns null.
[[nodiscard]] std::unique_ptr<RecordedSamples> start_recording_samples(const SampledRecording& recording) noexcept;

}  // namespace plait::record
