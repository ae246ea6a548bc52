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

/// The program's buffer for buffered sends. It bounds them; their data is in memory of its own.
///
/// Threads: any.
class SendBuffer {
 public:
  /// False when one is attached.
  [[nodiscard]] bool attach(void* memory, std::size_t bytes);
  /// Waits until all buffered sends are complete. Returns the buffer.
  [[nodiscard]] std::pair<void*, std::size_t> detach(EngineSession& session);

  /// Sends a copy of the message. The returned request is complete. Throws: `MpiError` when the buffer
  /// is full or there is none.
  [[nodiscard]] comm::Request send(comm::Endpoint& endpoint,
                                   const comm::Address& to,
                                   const TypedMessage& what,
                                   const Datatype& type);

 private:
  struct Copy {
    Bytes data;
    comm::Request request;
  };
  void drop_complete();

  std::mutex mutex_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t used_ = 0;
  bool is_attached_ = false;
  std::deque<Copy> copies_;
};

}  // namespace plait::accelerate
