// SPDX-License-Identifier: Apache-2.0
#include "plait/record/samples.hpp"

#include <cstdio>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "plait/base/clock.hpp"
#include "plait/trace/event.hpp"

namespace plait::record {
namespace {

/// From times of the machine's clock to those of the trace.
nanoseconds shift_of(const trace::Recorder& recorder) {
  const SteadyClock clock;
  return recorder.now() - clock.now();
}

}  // namespace

RecordedSamples::RecordedSamples(SampledRecording recording, const SamplerOptions& options)
    : recording_{std::move(recording)},
      records_{recording_.recorder.thread(WorkerId{}, "sampler")},
      sampler_{[this, shift = shift_of(recording_.recorder), every = options.interval](const ThreadSample& sample) {
                 records_.sample({.of_worker = recording_.worker_of(sample.thread),
                                  .thread = sample.thread_number,
                                  .time = sample.time + shift,
                                  .site = recording_.sites.path(sample.path),
                                  .interval = every});
               },
               options} {}

RecordedSamples::~RecordedSamples() {
  if (!sampler_.stop()) {
    std::fprintf(stderr, "plait: the thread that takes samples does not end; the last samples are missing\n");
  }
  if (const std::uint64_t lost = sampler_.lost_count(); lost > 0) {
    recording_.recorder.thread(WorkerId{}, "sampling")
        .counter({.name = recording_.recorder.name(trace::Role::counter, "samples lost"),
                  .time = recording_.recorder.now(),
                  .value = static_cast<double>(lost)});
  }
}

std::unique_ptr<RecordedSamples> start_recording_samples(const SampledRecording& recording) noexcept {
  try {
    const std::optional<nanoseconds> interval = sampling_wanted();
    if (!interval) {
      return nullptr;
    }
    try {
      return std::make_unique<RecordedSamples>(recording, SamplerOptions{.interval = *interval, .open = perf_samples});
    } catch (const std::system_error&) {
      return std::make_unique<RecordedSamples>(recording, SamplerOptions{.interval = *interval, .open = timer_samples});
    }
  } catch (const std::exception& trouble) {
    if (recording.may_report) {
      std::fprintf(stderr, "plait: no samples: %s; the calls are recorded all the same\n", trouble.what());
    }
    return nullptr;
  }
}

}  // namespace plait::record
