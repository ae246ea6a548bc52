// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>

#include <mpi.h>

#include "plait/accelerate/engine/datatypes.hpp"
#include "plait/base/bytes.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::accelerate {

class EngineSession;
struct TypedMessage;

/// A buffer of the program for buffered sends. It bounds them; their data is in memory of its own, as the MPI library
/// has the buffer for messages that are not routed.
///
/// Threads: any.
class SendBuffer {
 public:
  [[nodiscard]] bool is_attached() const noexcept { return is_attached_.load(std::memory_order_acquire); }
  /// Has room for `bytes` from now on.
  void attach(std::size_t bytes);
  /// Waits until all buffered sends are complete. There is no room from then on.
  void detach(EngineSession& session);
  /// Waits until all buffered sends are complete.
  void flush(EngineSession& session);
  /// Whether all buffered sends are complete.
  [[nodiscard]] bool is_idle();
  /// Gives back the room of all buffered sends, which go on.
  void release();

  /// Sends a copy of the message. The returned request is complete. Throws: `MpiError` when the buffer
  /// is full or there is none.
  [[nodiscard]] comm::Request send(comm::Endpoint& endpoint,
                                   const comm::Address& to,
                                   const TypedMessage& what,
                                   const Datatype& type);

 private:
  struct Copy {
    Bytes data;
    std::size_t room = 0;  ///< What it takes of the buffer.
    comm::Request request;
  };
  void drop_complete();

  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::size_t used_ = 0;
  std::atomic<bool> is_attached_ = false;
  std::deque<Copy> copies_;
};

}  // namespace plait::accelerate
