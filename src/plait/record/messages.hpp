// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "plait/record/call.hpp"

/// Records calls that send, receive, wait, test and probe. Called after MPI, unless a comment differs.
namespace plait::record {

/// The arguments of a send or receive.
struct MessageArguments {
  MPI_Count count = 0;
  MPI_Datatype type;
  int peer = 0;
  int tag = 0;
  MPI_Comm communicator;
};

/// The status for MPI to fill: the caller's, or an own one if the caller ignores it.
class StatusOrOwn {
 public:
  explicit StatusOrOwn(MPI_Status* callers) : used_{callers == MPI_STATUS_IGNORE ? &own_ : callers} {}
  StatusOrOwn(const StatusOrOwn&) = delete;
  StatusOrOwn& operator=(const StatusOrOwn&) = delete;
  [[nodiscard]] MPI_Status* get() noexcept { return used_; }

 private:
  MPI_Status own_{};
  MPI_Status* used_;
};

// Blocking calls. `nth`: index of the message in the call.

void sent(Call& call, const MessageArguments& envelope, std::uint32_t nth = 0);
void received(Call& call, const MessageArguments& envelope, const MPI_Status& status, std::uint32_t nth = 0);

/// Non-blocking calls. `kind`: send or receive.
void message_begun(Call& call, OperationKind kind, const MessageArguments& envelope, MPI_Request request);
/// Calls that create a persistent request.
void message_prepared(Call& call, OperationKind kind, const MessageArguments& envelope, MPI_Request request);

/// MPI_Start and MPI_Startall; called before MPI.
void starting(Call& call, int count, const MPI_Request* requests);

/// Copies the requests before MPI sets them to null.
void note_requests(Call& call, int count, const MPI_Request* requests);
/// Returns the caller's statuses, or own ones.
[[nodiscard]] MPI_Status* statuses_or_own(Call& call, int count, MPI_Status* callers);
/// Calls that complete all noted requests or, if they fail, those whose status is success.
void all_completed(Call& call, int result, const MPI_Request* requests, const MPI_Status* statuses);
/// Calls that may complete one noted request. `index`: of the request, or MPI_UNDEFINED.
void one_completed(Call& call, int index, const MPI_Status& status);
/// Calls that complete some noted requests. `count`: of these, or MPI_UNDEFINED.
void some_completed(Call& call, int count, const int* indices, const MPI_Status* statuses);

/// MPI_Request_free: no call will report the end of the operation. Called before MPI.
void freeing(Call& call, MPI_Request request);
void cancelling(Call& call, MPI_Request request);

/// Probes that found a message.
void probed(Call& call, MPI_Comm communicator, const MPI_Status& status);
/// Matched probes that found a message.
void probed_and_matched(Call& call, MPI_Comm communicator, MPI_Message message, const MPI_Status& status);
/// Returns and forgets a matched probe. Called before MPI receives its message.
[[nodiscard]] ProbedMessage take_probed(Call& call, MPI_Message message);
void matched_received(Call& call, const ProbedMessage& probed, const MPI_Status& status);
void matched_receive_begun(Call& call, const ProbedMessage& probed, MPI_Request request);

}  // namespace plait::record
