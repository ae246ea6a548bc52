// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/request.hpp"
#include "plait/data/lending/engine/lend_engine.hpp"
#include "plait/task/run/run.hpp"

namespace plait::data {

/// The handle to a transfer of pieces, from `Lender::lend` and `Lender::give_back`.
///
/// It may be discarded: the lender waits for the transfer when it must. It refers to the last transfer in its
/// direction. Threads: one at a time. Valid while the lender lives.
class Transfer {
 public:
  Transfer(detail::LendEngine& engine, detail::LendEngine::Direction direction) noexcept
      : engine_{&engine}, direction_{direction} {}

  /// Executes tasks until all pieces to this rank have arrived and all from it are sent. Afterwards the program may
  /// block in MPI: no other rank needs progress of this one. Throws: the first `Error` on any rank, for example of an
  /// accessor.
  void wait() { engine_->wait(direction_); }
  /// Executes tasks until the piece of one element is here. Throws: as above. Expects: a piece for this rank.
  void wait(ElementId id) { engine_->wait(direction_, id); }
  /// Returns whether the piece may be used here, by the element or by its parent. Makes no progress.
  [[nodiscard]] bool is_ready(ElementId id) const { return engine_->is_ready(direction_, id); }
  /// Returns a request that completes when the transfer is over, for tasks, `co_await` and completion queues.
  [[nodiscard]] comm::Request request() {
    task::Run* const run = engine_->run(direction_);
    return run == nullptr ? comm::Request{} : run->request();
  }

 private:
  detail::LendEngine* engine_;
  detail::LendEngine::Direction direction_;
};

}  // namespace plait::data
