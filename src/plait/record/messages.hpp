// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "plait/record/call.hpp"

/// What is noted of calls that send, receive, wait, test and probe, once MPI has done its part of them.
namespace plait::record {

/// The arguments of a send or receive.
struct MessageArguments {
  MPI_Count count = 0;
  MPI_Datatype type;
  int peer = 0;
  int tag = 0;
  MPI_Comm communicator;
};

/// Where MPI is to put a status: the caller's, or one of our own where the caller wants none.
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

/// Of calls that are over when they return. `nth`: which message of the call it is.
void sent(Call& call, const MessageArguments& envelope, std::uint32_t nth = 0);
void received(Call& call, const MessageArguments& envelope, const MPI_Status& status, std::uint32_t nth = 0);

/// Of calls that give a request. `kind`: a send or a receive.
void message_begun(Call& call, OperationKind kind, const MessageArguments& envelope, MPI_Request request);
/// Of calls that make a request which `MPI_Start` begins.
void message_prepared(Call& call, OperationKind kind, const MessageArguments& envelope, MPI_Request request);

/// Before MPI_Start, MPI_Startall: the requests begin.
void starting(Call& call, int count, const MPI_Request* requests);

/// Notes what the requests are, as they are gone when the call returns.
void note_requests(Call& call, int count, const MPI_Request* requests);
/// The caller's statuses, or enough of our own.
[[nodiscard]] MPI_Status* statuses_or_own(Call& call, int count, MPI_Status* callers);
/// After a call that completes all of the requests noted, if it succeeded; else those whose status is success.
void all_completed(Call& call, int result, const MPI_Request* requests, const MPI_Status* statuses);
/// After a call that may have completed the noted request at `index`, a place or MPI_UNDEFINED.
void one_completed(Call& call, int index, const MPI_Status& status);
/// After a call that completed `count` of them, or MPI_UNDEFINED.
void some_completed(Call& call, int count, const int* indices, const MPI_Status* statuses);

/// The program gives a request away: no call will report that the operation is complete.
void freeing(Call& call, MPI_Request request);
void cancelling(Call& call, MPI_Request request);

/// After a probe that found a message.
void probed(Call& call, MPI_Comm communicator, const MPI_Status& status);
/// After one that took it out of the order of messages.
void probed_and_matched(Call& call, MPI_Comm communicator, MPI_Message message, const MPI_Status& status);
/// Before a receive of such a message; the result of the probe.
[[nodiscard]] ProbedMessage take_probed(Call& call, MPI_Message message);
void matched_received(Call& call, const ProbedMessage& probed, const MPI_Status& status);
void matched_receive_begun(Call& call, const ProbedMessage& probed, MPI_Request request);

}  // namespace plait::record
