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

class Session;

/// The modes of MPI's sends; a ready send is a standard one.
enum class SendMode : std::uint8_t { standard, synchronous, buffered };

/// A message as the arguments of a call describe it.
struct MessageArguments {
  void* buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type{};
  int peer = MPI_PROC_NULL;
  int tag = 0;
};

/// One message of the program, from its start to its end. Threads: one at a time.
class Transfer {
 public:
  Transfer() = default;
  Transfer(Transfer&&) = default;
  Transfer& operator=(Transfer&&) = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() { free_type(); }

  /// Starts a send. Throws: `MpiError` when it is buffered and there is no room, else as the endpoint.
  void send(Session& session, Communicator& on, const MessageArguments& what, SendMode mode);
  void receive(Session& session, Communicator& on, const MessageArguments& what);
  /// Receives a message that a probe has claimed.
  void receive(Session& session, Communicator& on, const MessageArguments& what, comm::ClaimedMessage message);

  [[nodiscard]] comm::Request& request() noexcept { return request_; }
  [[nodiscard]] bool is_complete() const noexcept { return request_.is_complete(); }
  /// What came of a complete transfer, whose data is then where it belongs. Of a send: an empty outcome.
  [[nodiscard]] Outcome outcome(const Communicator& on);
  /// As `outcome`, and ends the transfer.
  [[nodiscard]] Outcome end(const Communicator& on);
  /// Cancels a receive that is not matched. False when it will complete.
  bool cancel();

 private:
  void free_type() noexcept;
  template <class Post>
  void post_receive(Session& session, const MessageArguments& what, const Post& post);

  comm::Request request_;
  Bytes packed_;             ///< Where MPI packs or unpacks.
  MessageArguments unpack_;  ///< What to unpack into.
  bool has_to_unpack_ = false;
  bool is_receive_ = false;
  bool is_from_nowhere_ = false;  ///< A receive from MPI_PROC_NULL.
  bool is_cancelled_ = false;
};

}  // namespace plait::accelerate
