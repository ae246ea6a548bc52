// SPDX-License-Identifier: Apache-2.0
#include "plait/record/own_cost.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <mpi.h>

#include "plait/record/call.hpp"
#include "plait/record/messages.hpp"

namespace plait::record {
namespace {

/// As many records as a chunk of the file has, so that each trial begins one; of several trials, the shortest counts.
constexpr int calls_in_trial = 4096;
constexpr int trial_count = 3;

/// Any run has this function's name.
constinit Function named{"PMPI_Init"};

/// While it lives, calls of this thread are recorded as those of another.
class InPlaceOfThread {
 public:
  explicit InPlaceOfThread(RecordedThread& other) : own_{thread_state} { thread_state.thread = &other; }
  InPlaceOfThread(const InPlaceOfThread&) = delete;
  InPlaceOfThread& operator=(const InPlaceOfThread&) = delete;
  ~InPlaceOfThread() { thread_state = own_; }

 private:
  ThreadState own_;
};

/// A new folder, which is removed at the end.
class ScratchFolder {
 public:
  explicit ScratchFolder(std::filesystem::path path) : path_{std::move(path)} {}
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

/// Makes calls that do nothing but being recorded.
class Trials {
 public:
  explicit Trials(Session& session) : session_{session} {}

  void poll() {
    call(trace::CallClass::completes, [](Call&) {});
  }
  void other() {
    call(trace::CallClass::other, [](Call&) {});
  }
  void send() {
    call(trace::CallClass::message, [this](Call& call) { sent(call, envelope_); });
  }
  void send_and_wait() {
    const std::uint64_t number = ++requests_;
    MPI_Request request{};
    std::memcpy(&request, &number, std::min(sizeof request, sizeof number));  // only its bits are used
    call(trace::CallClass::begins_message,
         [&](Call& call) { message_begun(call, OperationKind::send, envelope_, request); });
    const MPI_Status status{};
    call(trace::CallClass::completes, [&](Call& call) {
      note_requests(call, 1, &request);
      all_completed(call, MPI_SUCCESS, &request, &status);
    });
  }

  /// Between the recorded start and end of the calls so far.
  nanoseconds inside{};

 private:
  template <class Recording>
  void call(trace::CallClass what, const Recording& recording) {
    Call one{session_, named, what, &no_place_};
    one.run([] { return MPI_SUCCESS; });
    recording(one);
    inside += one.event().end - one.event().start;
  }

  Session& session_;
  const void* no_place_ = nullptr;
  MessageArguments envelope_{
      .count = 1, .type = session_.mpi.byte, .peer = 0, .tag = 0, .communicator = session_.mpi.world};
  std::uint64_t requests_ = 0;
};

/// The mean time of `make`, in the shortest trial.
template <class Make>
nanoseconds time_of(const Session& session, const Make& make) {
  nanoseconds best = nanoseconds::max();
  for (int trial = 0; trial < trial_count; ++trial) {
    const nanoseconds start = session.now();
    for (int i = 0; i < calls_in_trial; ++i) {
      make();
    }
    best = std::min(best, session.now() - start);
  }
  return best / calls_in_trial;
}

}  // namespace

trace::RecorderCostsEvent measure_own_cost(Session& session, const std::filesystem::path& scratch) {
  const ScratchFolder folder{scratch};
  trace::Recorder recorder{session.clock, {.folder = scratch, .rank = Rank{0}, .rank_count = 1}};
  RecordedThread thread{recorder.thread(WorkerId{0}, "main"), nullptr};
  const InPlaceOfThread in_place{thread};
  Trials trials{session};
  trace::RecorderCostsEvent costs;
  costs.poll = time_of(session, [&] { trials.poll(); });
  costs.inside = trials.inside / (trial_count * calls_in_trial);
  costs.call = time_of(session, [&] { trials.other(); });
  const nanoseconds blocking = time_of(session, [&] { trials.send(); });
  const nanoseconds with_request = time_of(session, [&] { trials.send_and_wait(); });
  costs.message = std::max(nanoseconds{}, blocking - costs.call);
  costs.request = std::max(nanoseconds{}, with_request - 2 * costs.call);
  return costs;
}

}  // namespace plait::record
