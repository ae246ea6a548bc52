// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>
#include <nanobind/nanobind.h>

#include "plait/comm/collectives/group.hpp"
#include "plait/python/array_operation.hpp"
#include "plait/runtime/runtime.hpp"

namespace plait::python {

/// The settings of an `Engine`. What is not set is what the environment provides.
struct EngineSettings {
  std::optional<std::uint32_t> workers;
  std::optional<std::string> progress;  ///< The name of a progression mode.
  std::vector<std::string> command;
};

/// A runtime for a Python program: posts operations on the memory of Python objects, and waits for them without the
/// GIL.
///
/// No thread of the engine takes the GIL, so that the engine may be called with it. Threads: those that hold the GIL;
/// `run` and the waits release it.
class Engine {
 public:
  using OperationPtr = std::shared_ptr<ArrayOperation>;

  /// Collective. Borrows `communicator`. Throws: as `Runtime`; ValueError for an unknown mode.
  Engine(MPI_Comm communicator, const EngineSettings& settings);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  /// Ends the runtime: collective, unless it has failed. Operations that are not complete end without a result. A
  /// `failure` is first sent to all ranks, whose calls throw it, and no rank waits. Does nothing when it has ended.
  void close(const std::optional<std::string>& failure);
  [[nodiscard]] bool is_open() const noexcept { return runtime_ != nullptr; }
  /// Throws: ValueError when it has ended.
  [[nodiscard]] Runtime& runtime() const;
  [[nodiscard]] MPI_Comm communicator() const noexcept { return communicator_; }
  /// Of all ranks, for collective operations of this class.
  [[nodiscard]] const comm::Group& group() const;

  // Each starts an operation on the memory of `object`, which it keeps until the operation is complete. `who` is the
  // root of a broadcast. Throws: as `Buffer`; ValueError for a rank or a tag that does not exist.

  [[nodiscard]] OperationPtr send(nanobind::handle object, std::int64_t to, std::int64_t tag, std::int16_t priority);
  [[nodiscard]] OperationPtr receive(nanobind::handle object, std::int64_t source, std::int64_t tag);
  [[nodiscard]] OperationPtr all_to_all(nanobind::handle to_send, nanobind::handle to_receive);
  [[nodiscard]] OperationPtr all_to_all_blocks(const std::vector<nanobind::object>& to_send,
                                               const std::vector<nanobind::object>& to_receive);
  [[nodiscard]] OperationPtr broadcast(nanobind::handle object, std::int64_t root);
  [[nodiscard]] OperationPtr all_gather(nanobind::handle mine, nanobind::handle all);

  /// Makes progress once; true when the operation is complete. Throws: `Error` when it or the run has failed.
  [[nodiscard]] bool test(ArrayOperation& operation);
  /// Waits until the operation is complete, or for `seconds`; returns whether it is. Signals are handled meanwhile.
  /// Throws: as `test`.
  [[nodiscard]] bool wait(ArrayOperation& operation, std::optional<double> seconds);
  /// Makes `event()` readable when the operation completes. False, and nothing happens, when it is complete.
  [[nodiscard]] bool notify(ArrayOperation& operation);
  /// A file descriptor (eventfd) that becomes readable after `notify`.
  [[nodiscard]] int event() const noexcept { return event_; }

  /// Calls `work` without the GIL. Throws: as `work`.
  template <class Work>
  decltype(auto) run(Work&& work) {
    const Waiting waiting{*this};
    const nanobind::gil_scoped_release released;
    return std::forward<Work>(work)();
  }

  /// Keeps `what` until `forget` or the end of the runtime, which it must not outlive. Plans, for example: ranks must
  /// end them in the same order, and Python's garbage collection has no order.
  void keep(std::shared_ptr<void> what) { kept_.push_back(std::move(what)); }
  void forget(const std::shared_ptr<void>& what) { std::erase(kept_, what); }

 private:
  /// Counts the threads that use the runtime without the GIL: `close` refuses while there are any.
  class Waiting {
   public:
    explicit Waiting(Engine& engine) : engine_{engine} { ++engine_.waiting_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { --engine_.waiting_; }

   private:
    Engine& engine_;
  };

  [[nodiscard]] Rank rank(std::int64_t number, const char* what) const;
  OperationPtr posted(std::vector<Buffer> buffers, const std::function<comm::Request(std::vector<Buffer>&)>& post);
  void throw_if_unusable(const ArrayOperation& operation) const;

  const MPI_Comm communicator_;
  int event_ = -1;
  std::unique_ptr<Runtime> runtime_;
  std::optional<comm::Group> group_;
  std::vector<OperationPtr> pending_;
  std::size_t sweep_at_ = 0;  ///< The size of `pending_` at which complete operations are removed.
  std::vector<std::shared_ptr<void>> kept_;
  std::uint32_t waiting_ = 0;
};

}  // namespace plait::python
