// SPDX-License-Identifier: Apache-2.0
// What a recorded event costs, with tracing on and off, beside the clock reading that it needs anyway.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/trace/recorder.hpp"

#include "support/report.hpp"

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
    thread.task({.kind = kind, .object = i, .ready = time, .start = time, .end = time, .task = i + 1});
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

/// A folder for traces that are thrown away, in memory where the machine has a place for it.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
    name += "/plait-bench-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error{"no temporary folder"};
    }
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  /// Options for a new trace, in place of the last one.
  [[nodiscard]] trace::RecorderOptions next() const {
    std::filesystem::remove(path_ / "rank-0000.plt");
    return {.folder = path_, .rank = plait::Rank{0}, .rank_count = 1};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"trace_event",
                       "a recorded event costs about as much as reading the clock; one that is not, nothing",
                       1,
                       argc,
                       argv};
  const int repetitions = report.is_full() ? 101 : 25;
  const Folder folder;
  const plait::SteadyClock clock;
  std::vector<double> task;
  std::vector<double> message;
  std::vector<double> off;
  std::vector<double> reading;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    trace::Recorder none{clock};
    const double task_ns = [&] {
      trace::Recorder recorder{clock, folder.next()};
      return task_cost_ns(recorder);
    }();
    const double message_ns = [&] {
      trace::Recorder recorder{clock, folder.next()};
      return message_cost_ns(recorder);
    }();
    const double off_ns = task_cost_ns(none);
    const double reading_ns = cost_ns([&](std::uint64_t) { static_cast<void>(clock.now()); });
    if (repetition > 0) {  // the first warms up
      task.push_back(task_ns);
      message.push_back(message_ns);
      off.push_back(off_ns);
      reading.push_back(reading_ns);
    }
  }
  const double reading_ns = bench::spread_of(reading).median;
  const auto add = [&](const char* name, const std::vector<double>& times) {
    report.add({name, {}, bench::spread_of(times), "ns", "std::chrono::steady_clock::now()", reading_ns, "", {}});
  };
  add("task event", task);
  add("message event", message);
  add("task event, tracing off", off);
  report.finish();
}
