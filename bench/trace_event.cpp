// SPDX-License-Identifier: Apache-2.0
// What a recorded event costs, with tracing on and off, beside the clock reading that it needs.
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "plait/base/clock.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/recorder.hpp"

#include "support/report.hpp"
#include "support/stopwatch.hpp"
#include "support/turns.hpp"

namespace {

namespace trace = plait::trace;
using plait::nanoseconds;

constexpr std::uint64_t event_count = 200'000;

/// Nanoseconds for each of `event_count` calls.
template <class Call>
double cost_ns(Call call) {
  const plait::SteadyClock clock;
  const nanoseconds start = clock.now();
  for (std::uint64_t i = 0; i < event_count; ++i) {
    call(i);
  }
  return static_cast<double>((clock.now() - start).count()) / event_count;
}

double task_cost_ns(trace::Recorder& recorder) {
  trace::ThreadRecorder& thread = recorder.thread(plait::WorkerId{0}, "worker 0");
  const trace::NameId kind = recorder.name(trace::Role::task, "empty");
  return cost_ns([&](std::uint64_t i) {
    const nanoseconds time{i};
    thread.task({.kind = kind, .object = i, .ready = time, .start = time, .end = time, .id = i + 1});
    asm volatile("" ::: "memory");  // as if there were a task between two events
  });
}

double message_cost_ns(trace::Recorder& recorder) {
  trace::ThreadRecorder& thread = recorder.thread(plait::WorkerId{0}, "worker 0");
  return cost_ns([&](std::uint64_t i) {
    const nanoseconds time{i};
    thread.message({.peer = plait::Rank{0}, .tag = plait::Tag{i}, .posted = time, .completed = time});
    asm volatile("" ::: "memory");
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"trace_event",
                       "a recorded event costs about as much as reading the clock; one that is not, nothing",
                       1,
                       argc,
                       argv};
  if (std::filesystem::exists("/dev/shm")) {
    ::setenv("TMPDIR", "/dev/shm", 0);  // traces go to memory, unless the user chooses
  }
  const plait::test::TemporaryFolder folder;
  const plait::SteadyClock clock;
  const auto recording = [&] {
    std::filesystem::remove(folder / "rank-0000.plt");
    return trace::RecorderOptions{.folder = folder.path(), .rank = plait::Rank{0}, .rank_count = 1};
  };
  trace::Recorder none{clock};
  bench::Turns turns;
  turns.add("task event", [&] {
    trace::Recorder recorder{clock, recording()};
    return task_cost_ns(recorder);
  });
  turns.add("message event", [&] {
    trace::Recorder recorder{clock, recording()};
    return message_cost_ns(recorder);
  });
  turns.add("task event, tracing off", [&] { return task_cost_ns(none); });
  turns.add("clock", [&] { return cost_ns([&](std::uint64_t) { static_cast<void>(clock.now()); }); });
  turns.run(report.is_full() ? 101 : 25);
  for (const char* const name : {"task event", "message event", "task event, tracing off"}) {
    report.add({name, {}, turns[name], "ns", "std::chrono::steady_clock::now()", bench::median(turns["clock"])});
  }
  report.finish();
}
