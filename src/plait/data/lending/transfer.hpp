// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "plait/comm/request.hpp"
#include "plait/data/lending/engine/lend_engine.hpp"
#include "plait/task/run/run.hpp"

namespace plait::data {

/// Pieces on their way to elements or back to their parents: what `Lender::lend` and `Lender::give_back` return.
///
/// Dropping it abandons nothing: the lender waits for the transfer when it must. After the next transfer in this
/// direction has begun, it means that one. Threads: one at a time. Valid while the lender lives.
class Transfer {
 public:
  Transfer(detail::LendEngine& engine, detail::LendEngine::Direction direction) noexcept
      : engine_{&engine}, direction_{direction} {}

  /// Executes tasks until all pieces that come to this rank are there, and all that leave it have left. Afterwards no
  /// other rank needs this one's progress for it: the program may block in MPI.
  ///
  /// Throws: the first `Error` on any rank, of an accessor for example; as `task::Run::wait`.
  void wait() { engine_->wait(direction_); }
  /// Executes tasks until the piece of one element is there. Throws: as above. Expects: a piece that comes to this rank
  /// or stays here.
  void wait(ElementId id) { engine_->wait(direction_, id); }
  /// Executes a few tasks. True when the transfer is over. Throws: as `wait`.
  [[nodiscard]] bool test() { return run() == nullptr || run()->test(); }
  /// Whether the piece of an element may be used here: by the element, or by its parent. Makes no progress.
  [[nodiscard]] bool is_ready(ElementId id) const { return engine_->is_ready(direction_, id); }
  [[nodiscard]] bool is_over() const noexcept { return run() == nullptr || run()->is_over(); }
  /// Completes when the transfer is over: for a task's dependency, `co_await` or a completion queue.
  [[nodiscard]] comm::Request request() { return run() == nullptr ? comm::Request{} : run()->request(); }
  /// Calls `callback` once when the transfer is over without error, or now. It must be short and not wait.
  void then(std::function<void()> callback) { run() == nullptr ? callback() : run()->then(std::move(callback)); }

 private:
  [[nodiscard]] task::Run* run() const noexcept { return engine_->run(direction_); }

  detail::LendEngine* engine_;
  detail::LendEngine::Direction direction_;
};

}  // namespace plait::data
