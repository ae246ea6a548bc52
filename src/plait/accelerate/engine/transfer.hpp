// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <mpi.h>

#include "plait/accelerate/engine/communicators.hpp"
#include "plait/accelerate/engine/datatypes.hpp"
#include "plait/accelerate/engine/statuses.hpp"
#include "plait/base/bytes.hpp"
#include "plait/comm/claimed_message.hpp"
#include "plait/comm/request.hpp"

namespace plait::accelerate {

class EngineSession;

/// The modes of MPI's sends; a ready send is a standard one.
enum class SendMode : std::uint8_t { standard, synchronous, buffered };

/// A message as the arguments of a call describe it.
struct TypedMessage {
  void* buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type{};
  int peer = MPI_PROC_NULL;
  int tag = 0;
  /// Not 0: it is not the program's, and matches others with this tag only.
  std::uint64_t internal_tag = 0;
};

/// A copy of the message's bytes.
[[nodiscard]] Bytes packed_bytes(const TypedMessage& what, const Datatype& type);

/// One message of the program, from its start to its end. Threads: one at a time.
class MessageTransfer {
 public:
  MessageTransfer() = default;
  MessageTransfer(MessageTransfer&&) = default;
  MessageTransfer& operator=(MessageTransfer&&) = default;
  MessageTransfer(const MessageTransfer&) = delete;
  MessageTransfer& operator=(const MessageTransfer&) = delete;
  ~MessageTransfer() { free_type(); }

  /// Starts a send. Throws: `MpiError` when it is buffered and there is no room, else as the endpoint.
  void send(EngineSession& session, RoutedCommunicator& on, const TypedMessage& what, SendMode mode);
  /// As a standard send, of a copy: the buffer may be received into at once.
  void send_copy(EngineSession& session, RoutedCommunicator& on, const TypedMessage& what);
  void receive(EngineSession& session, RoutedCommunicator& on, const TypedMessage& what);
  /// Receives a message that a probe has claimed.
  void receive(EngineSession& session, RoutedCommunicator& on, const TypedMessage& what, comm::ClaimedMessage message);

  [[nodiscard]] comm::Request& request() noexcept { return request_; }
  /// Of its buffer, as messages have them.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool is_complete() const noexcept { return request_.is_complete(); }
  /// What came of a complete transfer, whose data is then where it belongs. Of a send: an empty outcome.
  [[nodiscard]] Outcome outcome(const RoutedCommunicator& on);
  /// As `outcome`, and ends the transfer.
  [[nodiscard]] Outcome end(const RoutedCommunicator& on);
  /// Cancels a receive that is not matched. False when it will complete.
  bool cancel();

 private:
  void free_type() noexcept;
  template <class Post>
  void post_receive(EngineSession& session, const TypedMessage& what, const Post& post);

  /// Of a message that MPI packs or unpacks, or that is sent from a copy.
  struct Packed {
    Bytes bytes;
    TypedMessage unpack;  ///< What to unpack into.
    bool has_to_unpack = false;
  };
  [[nodiscard]] Packed& packed() {
    if (!packed_) {
      packed_ = std::make_unique<Packed>();
    }
    return *packed_;
  }

  comm::Request request_;
  std::size_t bytes_ = 0;
  std::unique_ptr<Packed> packed_;
  bool is_receive_ = false;
  bool is_from_nowhere_ = false;  ///< A receive from MPI_PROC_NULL.
  bool is_cancelled_ = false;
};

}  // namespace plait::accelerate
