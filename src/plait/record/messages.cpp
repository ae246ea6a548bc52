// SPDX-License-Identifier: Apache-2.0
#include "plait/record/messages.hpp"

#include <algorithm>
#include <mutex>

namespace plait::record {
namespace {

using trace::MessageDirection;

/// What `call` posts; its communicator and peer go into its own record too.
Operation posted(Call& call, OperationKind kind, const Envelope& envelope) {
  const Communicator& communicator = call.on(envelope.communicator);
  call.event().peer = communicator.rank_of_run(envelope.peer);
  Operation operation = call.operation(kind);
  operation.tag = envelope.tag;
  operation.bytes = envelope.peer != MPI_PROC_NULL ? call.mpi().bytes(envelope.count, envelope.type) : 0;
  return operation;
}

Operation posted_receive(Call& call, const Envelope& envelope) {
  Operation operation = posted(call, OperationKind::receive, envelope);
  if (envelope.peer == MPI_ANY_SOURCE) {
    operation.members = call.session().communicators.share(envelope.communicator);
  }
  return operation;
}

void prepared(Call& call, Operation operation, MPI_Request request) {
  operation.is_persistent = true;
  operation.is_active = false;
  call.begins(request, operation);
}

bool was_cancelled(const Mpi& mpi, const MPI_Status& status) {
  int is_cancelled = 0;
  return mpi.test_cancelled(&status, &is_cancelled) == MPI_SUCCESS && is_cancelled != 0;
}

void record_begun_collective(Call& call, const Operation& operation) {
  call.lane().recorder.call({.what = trace::CallClass::begun_collective,
                             .function = operation.function,
                             .site = operation.site,
                             .communicator = operation.communicator,
                             .start = operation.posted,
                             .end = call.event().end,
                             .bytes_given = operation.bytes,
                             .bytes_got = operation.bytes_got,
                             .peer = operation.peer,
                             .number = operation.number,
                             .count = operation.count});
}

/// MPI has said that an operation of this request is complete.
void completed(Call& call, std::uint64_t handle, const MPI_Status& status) {
  std::optional<Operation> operation = call.session().requests.complete(handle, &call.lane());
  if (!operation || !operation->is_active) {
    return;  // nothing that was recorded; or the round of a persistent one that has not been started
  }
  call.session().pending.end();
  ++call.event().count;
  if (operation->is_to_be_cancelled && was_cancelled(call.mpi(), status)) {
    return;
  }
  switch (operation->kind) {
    case OperationKind::send:
      call.message(MessageDirection::sent, *operation, call.event().end);
      break;
    case OperationKind::receive:
      if (operation->members != nullptr) {
        operation->peer = operation->members->rank_of_run(status.MPI_SOURCE);
      }
      operation->tag = status.MPI_TAG;
      operation->bytes = call.mpi().bytes_received(status);
      call.message(MessageDirection::received, *operation, call.event().end);
      break;
    case OperationKind::collective:
      record_begun_collective(call, *operation);
      break;
    case OperationKind::other:
      break;
  }
}

}  // namespace

void sent(Call& call, const Envelope& envelope, std::uint32_t nth) {
  Operation operation = posted(call, OperationKind::send, envelope);
  operation.number += nth;
  call.gives(operation.bytes);
  call.message(MessageDirection::sent, operation, call.event().end);
}

void received(Call& call, const Envelope& envelope, const MPI_Status& status, std::uint32_t nth) {
  const Communicator& communicator = call.on(envelope.communicator);
  if (envelope.peer == MPI_PROC_NULL) {
    return;
  }
  Operation operation = call.operation(OperationKind::receive);
  operation.number += nth;
  operation.peer = communicator.rank_of_run(status.MPI_SOURCE);
  operation.tag = status.MPI_TAG;
  operation.bytes = call.mpi().bytes_received(status);
  call.event().peer = operation.peer;
  call.gets(operation.bytes);
  call.message(MessageDirection::received, operation, call.event().end);
}

void send_begun(Call& call, const Envelope& envelope, MPI_Request request) {
  const Operation operation = posted(call, OperationKind::send, envelope);
  call.gives(operation.bytes);
  if (envelope.peer != MPI_PROC_NULL) {
    call.begins(request, operation);
  }
}

void receive_begun(Call& call, const Envelope& envelope, MPI_Request request) {
  const Operation operation = posted_receive(call, envelope);
  if (envelope.peer != MPI_PROC_NULL) {
    call.begins(request, operation);
  }
}

void send_prepared(Call& call, const Envelope& envelope, MPI_Request request) {
  if (const Operation operation = posted(call, OperationKind::send, envelope); envelope.peer != MPI_PROC_NULL) {
    prepared(call, operation, request);
  }
}

void receive_prepared(Call& call, const Envelope& envelope, MPI_Request request) {
  if (const Operation operation = posted_receive(call, envelope); envelope.peer != MPI_PROC_NULL) {
    prepared(call, operation, request);
  }
}

void starting(Call& call, int count, const MPI_Request* requests) {
  const nanoseconds now = call.session().now();
  trace::CallEvent& event = call.event();
  event.start = now;  // readers find the call of a message by the time of its posting
  for (int i = 0; i < count; ++i) {
    call.session().requests.alter(key_of(requests[i]), [&](Operation& operation) {
      if (operation.is_active) {
        return;  // a mistake of the program, which MPI will tell it
      }
      operation.is_active = true;
      operation.number = event.number + static_cast<std::uint32_t>(i);
      operation.posted = now;
      operation.site = event.site;
      if (operation.kind == OperationKind::collective) {
        event.what = trace::CallClass::begins_collective;
        event.communicator = operation.communicator;
        operation.count = operation.members->collective_count.fetch_add(1, std::memory_order_relaxed);
        event.count = operation.count;
        event.bytes_got += operation.bytes_got;
      } else if (count == 1) {
        event.communicator = operation.communicator;
        event.peer = operation.peer;
      }
      event.bytes_given += operation.kind == OperationKind::receive ? 0 : operation.bytes;
      call.session().pending.begin();
    });
  }
}

void note_requests(Call& call, int count, const MPI_Request* requests) {
  std::vector<std::uint64_t>& handles = call.lane().handles;
  handles.resize(static_cast<std::size_t>(std::max(count, 0)));
  std::transform(requests, requests + handles.size(), handles.begin(), key_of<MPI_Request>);
}

MPI_Status* statuses_or_own(Call& call, int count, MPI_Status* callers) {
  if (callers != MPI_STATUSES_IGNORE) {
    return callers;
  }
  std::vector<MPI_Status>& own = call.lane().statuses;
  if (own.size() < static_cast<std::size_t>(std::max(count, 1))) {
    own.resize(static_cast<std::size_t>(std::max(count, 1)));
  }
  return own.data();
}

void all_completed(Call& call, int result, const MPI_Request* requests, const MPI_Status* statuses) {
  const std::vector<std::uint64_t>& handles = call.lane().handles;
  const std::uint64_t null = key_of(call.mpi().request_null);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (handles[i] == null) {
      continue;
    }
    if (result == MPI_SUCCESS || statuses[i].MPI_ERROR == MPI_SUCCESS) {
      completed(call, handles[i], statuses[i]);
    } else if (key_of(requests[i]) == null && call.session().requests.remove(handles[i], &call.lane())) {
      call.session().pending.end();  // it failed: MPI has forgotten it
    }
  }
}

void one_completed(Call& call, int index, const MPI_Status& status) {
  const std::vector<std::uint64_t>& handles = call.lane().handles;
  if (index >= 0 && static_cast<std::size_t>(index) < handles.size()) {
    completed(call, handles[static_cast<std::size_t>(index)], status);
  }
}

void some_completed(Call& call, int count, const int* indices, const MPI_Status* statuses) {
  for (int i = 0; count != MPI_UNDEFINED && i < count; ++i) {
    one_completed(call, indices[i], statuses[i]);
  }
}

void freeing(Call& call, MPI_Request request) {
  const std::optional<Operation> operation = call.session().requests.remove(key_of(request), &call.lane());
  if (!operation || !operation->is_active) {
    return;
  }
  call.session().pending.end();
  if (operation->kind == OperationKind::send || operation->kind == OperationKind::receive) {
    call.message(operation->kind == OperationKind::send ? MessageDirection::sent : MessageDirection::received,
                 *operation,
                 nanoseconds{});
  }
}

void cancelling(Call& call, MPI_Request request) {
  call.session().requests.alter(key_of(request), [](Operation& operation) { operation.is_to_be_cancelled = true; });
}

void probed(Call& call, MPI_Comm communicator, const MPI_Status& status) {
  call.event().peer = call.on(communicator).rank_of_run(status.MPI_SOURCE);
  call.event().count = 1;
}

void probed_and_matched(Call& call, MPI_Comm communicator, MPI_Message message, const MPI_Status& status) {
  probed(call, communicator, status);
  if (status.MPI_SOURCE == MPI_PROC_NULL) {
    return;
  }
  const std::lock_guard lock{call.session().probed_mutex};
  call.session().probed.insert_or_assign(key_of(message),
                                         ProbedMessage{.communicator = call.event().communicator,
                                                       .peer = call.event().peer,
                                                       .number = call.event().number,
                                                       .tag = status.MPI_TAG});
}

ProbedMessage take_probed(Call& call, MPI_Message message) {
  const std::lock_guard lock{call.session().probed_mutex};
  const auto known = call.session().probed.find(key_of(message));
  if (known == call.session().probed.end()) {
    return {};
  }
  const ProbedMessage taken = known->second;
  call.session().probed.erase(known);
  return taken;
}

namespace {

Operation posted_matched(Call& call, const ProbedMessage& probed) {
  call.event().communicator = probed.communicator;
  call.event().peer = probed.peer;
  Operation operation = call.operation(OperationKind::receive);
  operation.number = probed.number;
  operation.tag = probed.tag;
  return operation;
}

}  // namespace

void matched_received(Call& call, const ProbedMessage& probed, const MPI_Status& status) {
  if (probed.number != 0) {
    Operation operation = posted_matched(call, probed);
    operation.bytes = call.mpi().bytes_received(status);
    call.gets(operation.bytes);
    call.message(MessageDirection::received, operation, call.event().end);
  }
}

void matched_receive_begun(Call& call, const ProbedMessage& probed, MPI_Request request) {
  if (probed.number != 0) {
    call.begins(request, posted_matched(call, probed));
  }
}

}  // namespace plait::record
