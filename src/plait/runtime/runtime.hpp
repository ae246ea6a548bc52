// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "plait/base/clock.hpp"
#include "plait/base/executor.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/progression.hpp"
#include "plait/net/driver.hpp"
#include "plait/runtime/options.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/meta.hpp"
#include "plait/trace/recorder.hpp"

#ifdef PLAIT_WITH_MPI
#include <mpi.h>
#endif

namespace plait::data {
class Work;
}

namespace plait {

/// One rank of a parallel program: its driver, endpoint, workers and trace.
///
/// Every rank creates one, over the same ranks; a process may have several. Construction and destruction are
/// collective. Programs pass it explicitly: there is no global runtime. Threads: only the creating one; any thread may
/// use `messages()`.
class Runtime {
 public:
  /// Uses the given driver: `loopback` and `sim` for tests, or any other.
  ///
  /// Throws: `Error` with `bad_argument` or `bad_input` for invalid options, `io` if the trace cannot be written.
  Runtime(std::unique_ptr<net::Driver> driver, const Options& options);
#ifdef PLAIT_WITH_MPI
  /// Uses the ranks of `communicator`, which is borrowed. MPI must be initialised before and finalised after this
  /// runtime: with at least MPI_THREAD_FUNNELED for one worker, MPI_THREAD_SERIALIZED for more workers or for progress
  /// in the background. Options that are automatic are what `options.strategy` of rank 0 provides; see strategy.hpp.
  explicit Runtime(MPI_Comm communicator, const Options& options = Options::from_environment());
#endif
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  /// Waits until all sends are flushed and all ranks have arrived, then closes the network. Does not wait if the run
  /// has failed or an exception is being handled. Writes the messages that were never received to stderr.
  ~Runtime();

  [[nodiscard]] Rank self() const noexcept { return endpoint_.self(); }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return endpoint_.rank_count(); }
  [[nodiscard]] std::uint32_t worker_count() const noexcept { return scheduler_.worker_count(); }

  /// Whether bodies of tasks run. Not in a simulation that only charges their costs (`plait simulate --skip-bodies`):
  /// data then have no meaning, and a program need neither set nor check them.
  [[nodiscard]] bool runs_bodies() const noexcept {
    return endpoint_.executor() == nullptr || endpoint_.executor()->runs_bodies();
  }

  [[nodiscard]] comm::Endpoint& messages() noexcept { return endpoint_; }
  [[nodiscard]] task::Scheduler& scheduler() noexcept { return scheduler_; }
  [[nodiscard]] trace::Recorder& trace() noexcept { return recorder_; }

  /// Runs the active tasks of a graph; see `task::Scheduler::run`.
  void run(task::Graph& graph, std::span<const task::Task> active) { scheduler_.run(graph, active); }
  void run(task::Graph& graph) { scheduler_.run(graph); }

  /// The deferred tasks of this runtime, created by the first call. Call its `wait` before the end of the runtime.
  /// `work` and `ref` forward to it; they need `data/references/work.hpp`.
  [[nodiscard]] data::Work& works();
  template <class Works = data::Work, class... Arguments>
  auto work(Arguments&&... arguments) {
    return static_cast<Works&>(works())(std::forward<Arguments>(arguments)...);
  }
  template <class T, class Works = data::Work, class... Arguments>
  [[nodiscard]] auto ref(Arguments&&... arguments) {
    return static_cast<Works&>(works()).template ref<T>(std::forward<Arguments>(arguments)...);
  }

 private:
  /// A driver, and the options with which it was created.
  using Connected = std::pair<std::unique_ptr<net::Driver>, Options>;
  /// `host`: the recorder that the trace joins; null: it has files of its own, or there is none.
  Runtime(Connected connected, const trace::PreloadedRecorder* host);

  void end();

  const Options options_;
  std::unique_ptr<net::Driver> driver_;
  trace::Recorder recorder_;
  comm::Endpoint endpoint_;
  trace::Meta meta_;
  WaitPolicy wait_;
  task::Scheduler scheduler_;
  std::unique_ptr<data::Work> works_;
  int exceptions_at_start_;
  comm::Progression progression_;  // last: its threads use the endpoint
};

}  // namespace plait
