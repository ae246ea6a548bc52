// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/prediction_run.hpp"

#include <algorithm>
#include <chrono>
#include <span>

#include <fmt/format.h>

#include "plait/replay/check.hpp"
#include "plait/trace/meta.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::replay {
namespace {

/// The name of its function in the trace.
std::string name_of(Collective collective) {
  std::string name = to_string(collective);
  std::ranges::replace(name, '-', '_');
  return name;
}

/// When the program was notified of its end, else the end itself.
nanoseconds end_of(const OperationTimes& times) {
  return times.notified != OperationTimes::unknown ? times.notified : std::max(times.moved, times.posted);
}

/// Writes a stream's operations as events of one thread.
class StreamWriter {
 public:
  StreamWriter(trace::Recorder& recorder, trace::ThreadRecorder& thread, std::span<const OperationTimes> times)
      : recorder_{recorder}, thread_{thread}, times_{times} {}

  /// `number`: operations written before.
  void write(const Stream& stream, std::uint32_t& number) {
    for (std::size_t i = 0; i < stream.operations.size(); ++i) {
      const Operation& operation = stream.operations[i];
      const OperationTimes& times = times_[i];
      ++number;
      if (operation.action == Action::send || operation.action == Action::receive) {
        write_message(operation, times, number);
      } else if (operation.action == Action::collective) {
        call(trace::CallClass::begun_collective,
             name_of(operation.collective),
             operation,
             {.start = times.posted, .end = end_of(times), .number = number});
      } else if (operation.action == Action::wait) {
        call(trace::CallClass::completes,
             "wait",
             operation,
             {.start = times.posted, .end = end_of(times), .number = number, .count = operation.count});
      }
    }
  }

 private:
  void write_message(const Operation& operation, const OperationTimes& times, std::uint32_t number) {
    const bool sends = operation.action == Action::send;
    if (times.partner == trace::nothing) {
      return;
    }
    const auto known = [&](nanoseconds time, nanoseconds otherwise) {
      return time == OperationTimes::unknown ? otherwise : time;
    };
    call(trace::CallClass::begins_message,
         sends ? "send" : "receive",
         operation,
         {.start = times.posted, .end = times.posted, .number = number});
    trace::MessageEvent event;
    event.direction = sends ? trace::MessageDirection::sent : trace::MessageDirection::received;
    event.protocol = trace::Protocol::not_known;
    event.peer = Rank{operation.peer};
    event.communicator = operation.communicator;
    event.sequence = number;
    event.tag = Tag{operation.tag};
    event.bytes = operation.bytes;
    event.is_matched_by_order = true;
    event.posted = times.posted;
    event.handed = known(times.handed, times.posted);
    event.arrived = known(times.moved, event.handed);
    event.completed = std::max(event.arrived, end_of(times));
    thread_.message(event);
  }

  void call(trace::CallClass what, const std::string& function, const Operation& operation, trace::CallEvent event) {
    event.what = what;
    event.function = recorder_.name(trace::Role::function, function);
    event.communicator = what == trace::CallClass::completes ? trace::nothing : operation.communicator;
    event.bytes_given = operation.bytes;
    event.bytes_got = operation.bytes_got;
    event.peer = operation.peer;
    thread_.call(event);
  }

  trace::Recorder& recorder_;
  trace::ThreadRecorder& thread_;
  std::span<const OperationTimes> times_;
};

trace::Meta meta_of(const PredictionRun& run, const Schedule& schedule, const Prediction& prediction) {
  trace::Meta meta;
  meta.program = "plait predict";
  meta.ranks = static_cast<std::uint32_t>(schedule.ranks.size());
  meta.workers = 1;
  for (std::uint32_t rank = 0; rank < meta.ranks; ++rank) {
    meta.hosts.push_back(fmt::format("host{}", rank / run.ranks_per_host));
  }
  meta.started = std::chrono::system_clock::now();
  meta.ended = meta.started + std::chrono::duration_cast<std::chrono::system_clock::duration>(prediction.total);
  meta.mpi = "predicted for " + run.platform;
  meta.recorder = "prediction";
  return meta;
}

}  // namespace

void write_prediction(const PredictionRun& run, const Schedule& schedule, const Prediction& prediction) {
  std::size_t base = 0;
  const ManualClock clock;
  for (std::uint32_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    trace::Recorder recorder{clock,
                             {.folder = run.folder,
                              .rank = Rank{rank},
                              .rank_count = static_cast<std::uint32_t>(schedule.ranks.size()),
                              .chunk_bytes = 16 * 1024}};
    std::uint32_t number = 0;
    std::uint16_t index = 0;
    for (const Stream& stream : schedule.ranks[rank].streams) {
      trace::ThreadRecorder& thread =
          recorder.thread(WorkerId{index++}, stream.name.empty() ? "predicted" : stream.name);
      thread.clock({});  // all ranks have one clock here
      const std::span<const OperationTimes> times{prediction.times.data() + base, stream.operations.size()};
      StreamWriter{recorder, thread, times}.write(stream, number);
      base += stream.operations.size();
    }
    if (rank == 0) {
      trace::ThreadRecorder& thread = recorder.thread(WorkerId{0}, "predicted");
      for (const auto& [communicator, members] : schedule.communicators) {
        thread.communicator({.communicator = communicator, .members = members});
      }
    }
  }
  trace::write_meta(run.folder, meta_of(run, schedule, prediction));
}

}  // namespace plait::replay
