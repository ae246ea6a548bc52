// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/clock_sync.hpp"

#include "plait/trace/clock_alignment.hpp"

namespace plait {

namespace {

constexpr int exchange_count = 16;
constexpr Tag ask{10};
constexpr Tag answer{11};

void answer_asker(comm::Endpoint& endpoint, const trace::Recorder& recorder, Rank asker) {
  for (int i = 0; i < exchange_count; ++i) {
    endpoint.receive({asker, ask, comm::internal}, std::span<std::byte>{}).wait();
    const nanoseconds::rep now = recorder.now().count();
    endpoint.send({asker, answer, comm::internal}, std::as_bytes(std::span{&now, 1})).wait();
  }
}

trace::ClockEvent ask_rank_0(comm::Endpoint& endpoint, const trace::Recorder& recorder) {
  trace::ClockEvent best{.round_trip = nanoseconds::max()};
  for (int i = 0; i < exchange_count; ++i) {
    nanoseconds::rep theirs = 0;
    comm::Request request =
        endpoint.receive({Rank{0}, answer, comm::internal}, std::as_writable_bytes(std::span{&theirs, 1}));
    const nanoseconds before = recorder.now();
    endpoint.send({Rank{0}, ask, comm::internal}, {}).wait();
    request.wait();
    const trace::ClockEvent told = trace::clock_exchange(before, nanoseconds{theirs}, recorder.now());
    if (told.round_trip < best.round_trip) {
      best = told;
    }
  }
  return best;
}

}  // namespace

void record_clock_offset(comm::Endpoint& endpoint, trace::Recorder& recorder) {
  trace::ThreadRecorder& trace = recorder.thread(WorkerId{}, "clock");
  if (endpoint.self() != Rank{0}) {
    trace.clock(ask_rank_0(endpoint, recorder));
    return;
  }
  trace.clock({.time = recorder.now()});
  for (std::uint32_t rank = 1; rank < endpoint.rank_count(); ++rank) {
    answer_asker(endpoint, recorder, Rank{rank});
  }
}

}  // namespace plait
