// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/session.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "plait/base/topology.hpp"
#include "plait/runtime/network.hpp"
#include "plait/trace/preloaded_recorder.hpp"

namespace plait::accelerate {

namespace {

constexpr std::uint32_t requests_max = std::uint32_t{1} << 22U;
constexpr std::uint32_t probed_max = std::uint32_t{1} << 16U;
/// How long MPI_Finalize waits for messages that may never be received.
constexpr std::chrono::milliseconds last_messages_max{200};

WaitPolicy choose_wait(const Options& options, const net::Driver& driver) {
  WaitPolicy wait = options.messages.wait;
  MPI_Comm host = MPI_COMM_NULL;
  int ranks_here = static_cast<int>(driver.rank_count());
  if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) == MPI_SUCCESS) {
    PMPI_Comm_size(host, &ranks_here);
    PMPI_Comm_free(&host);
  }
  if (is_oversubscribed(static_cast<std::uint32_t>(ranks_here), 1)) {
    wait = crowded(wait);
  }
  return wait;
}

int largest_tag() {
  void* value = nullptr;
  int is_set = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &is_set);
  return is_set != 0 ? *static_cast<int*>(value) : 32767;
}

/// Records the engine's messages into the files of a recorder of the program's calls, if there is one. Collective.
trace::Recorder make_recorder(const net::Driver& driver) {
  const trace::PreloadedRecorder* const host = trace::preloaded_recorder();
  if (host == nullptr) {
    return trace::Recorder{driver.clock()};
  }
  host->start();
  if (!host->can_join(driver.self().value(), driver.rank_count())) {
    return trace::Recorder{driver.clock()};
  }
  return trace::Recorder{driver.clock(), *host, 1};
}

/// Has readers know that the engine's messages in the recording are those of the program's calls.
void note_engine(trace::Recorder& recorder) {
  if (recorder.has_joined()) {
    recorder.thread(WorkerId{0}, "").engine({.workers = 1, .start = recorder.now(), .carries_calls = true});
    trace::preloaded_recorder()->note_option("accelerate", "on");
  }
}

}  // namespace

int error_class_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::truncated:
      return MPI_ERR_TRUNCATE;
    case ErrorCode::out_of_memory:
      return MPI_ERR_NO_MEM;
    default:
      return MPI_ERR_OTHER;
  }
}

EngineSession::EngineSession(const Options& options)
    : driver_{make_network(MPI_COMM_WORLD, options.network)},
      recorder_{make_recorder(*driver_)},
      endpoint_{*driver_, recorder_, options.messages},
      wait_{choose_wait(options, *driver_)},
      communicators_{endpoint_, *driver_},
      requests_{requests_max, 1, fortran_number_offset()},
      probed_{probed_max, requests_max + 1},
      tag_max_{largest_tag()},
      polls_in_background_{options.progression.mode != comm::ProgressionMode::none} {
  note_engine(recorder_);
  endpoint_.set_wait(wait_);
  comm::ProgressionOptions progression = options.progression;
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) {
    progression.beside = &foreign_;
  }
  progression_.emplace(endpoint_, progression);
}

EngineSession::~EngineSession() = default;

int EngineSession::report(MPI_Comm handle, int error) noexcept {
  if (error != MPI_SUCCESS) {
    PMPI_Comm_call_errhandler(handle, error);
  }
  return error;
}

void EngineSession::tell(const Error& error) noexcept {
  if (error.code() != ErrorCode::truncated) {
    std::fprintf(stderr, "plait: %s\n", error.what());
  }
}

void EngineSession::end_when_complete(PendingOperation& pending) {
  const std::lock_guard lock{orphans_mutex_};
  orphans_.push_back(&pending);
  end_complete_orphans();
}

void EngineSession::end_complete_orphans() {
  std::erase_if(orphans_, [this](PendingOperation* orphan) {
    if (!orphan->is_complete()) {
      return false;
    }
    RoutedCommunicator& on = *orphan->on;
    (void)orphan->end(tally_);
    requests_.pool().end(*orphan);
    on.outstanding.fetch_sub(1, std::memory_order_release);  // with acquire where a communicator ends
    return true;
  });
}

int EngineSession::wait_theirs(MPI_Request request) noexcept {
  int is_complete = 0;
  int result = MPI_SUCCESS;
  const int trouble = guarded(MPI_COMM_WORLD, [&] {
    wait_until([&] {
      result = PMPI_Test(&request, &is_complete, MPI_STATUS_IGNORE);
      return is_complete != 0 || result != MPI_SUCCESS;
    });
  });
  return trouble != MPI_SUCCESS ? trouble : result;
}

void EngineSession::meet() noexcept {
  MPI_Request all_here = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(MPI_COMM_WORLD, &all_here) == MPI_SUCCESS) {
    (void)wait_theirs(all_here);
  }
}

void EngineSession::finish() noexcept {
  try {
    // Once all ranks are here no receive is posted any more: what moves then is all that will.
    meet();
    const auto until = std::chrono::steady_clock::now() + last_messages_max;
    while (endpoint_.activity().needs_polls() && std::chrono::steady_clock::now() < until) {
      endpoint_.progress();
    }
    tell_what_was_done();
    // No rank closes the network while another one sends.
    meet();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plait: the engine did not shut down cleanly: %s\n", error.what());
  }
  stop_progress();
  foreign_.end();
}

void EngineSession::tell_what_was_done() noexcept {
  using Count = unsigned long long;
  const Counts here = tally_.counts();
  const std::array<Count, 5> own{
      here.messages, here.bytes, communicators_.unrouted_count(), here.ended_bytes, here.awaited_bytes};
  std::array<Count, 5> sum{};
  PMPI_Reduce(own.data(), sum.data(), sum.size(), MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  const char* const quiet = std::getenv("PLAIT_ACCELERATE_QUIET");
  if (endpoint_.self() != Rank{0} || (quiet != nullptr && *quiet != '\0')) {
    return;
  }
  std::string line = fmt::format("plait: {} messages with {:.4g} MB went through the engine ({})",
                                 sum[0],
                                 static_cast<double>(sum[1]) * 1e-6,
                                 driver_->name());
  if (sum[3] > 0) {
    line += fmt::format("; {:.0f} % of what non-blocking calls moved had moved before the program waited for it",
                        100.0 * static_cast<double>(sum[3] - sum[4]) / static_cast<double>(sum[3]));
  }
  if (sum[2] > 0) {
    line += fmt::format(
        "; {} times a rank made a communicator that MPI serves itself, as it is not among ranks of "
        "MPI_COMM_WORLD only or has two groups",
        sum[2]);
  }
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace plait::accelerate
