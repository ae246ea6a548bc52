// SPDX-License-Identifier: Apache-2.0
#include "plait/record/messages.hpp"

#include <algorithm>
#include <memory>

#include "plait/record/collectives.hpp"

namespace plait::record {
namespace {

using Persistent = Requests::Persistent;

/// Returns the operation that `call` posts, and sets communicator and peer of the call.
PostedOperation posted(Call& call, OperationKind kind, const MessageArguments& envelope) {
  const Communicator& communicator = call.on(envelope.communicator);
  call.event().peer = communicator.rank_of_run(envelope.peer);
  PostedOperation operation = call.operation(kind);
  operation.tag = envelope.tag;
  operation.call.bytes_given = envelope.peer != MPI_PROC_NULL ? call.mpi().bytes(envelope.count, envelope.type) : 0;
  operation.has_gaps = operation.call.bytes_given > 0 && kind == OperationKind::send &&
                       call.mpi().has_gaps(envelope.count, envelope.type);
  if (kind == OperationKind::receive && envelope.peer == MPI_ANY_SOURCE) {
    operation.members = call.session().communicators.share(envelope.communicator);
  }
  return operation;
}

PostedOperation posted_matched(Call& call, const ProbedMessage& probed) {
  call.event().communicator = probed.communicator;
  call.event().peer = probed.peer;
  PostedOperation operation = call.operation(OperationKind::receive);
  operation.call.number = probed.number;
  operation.tag = probed.tag;
  return operation;
}

bool was_cancelled(const Mpi& mpi, const MPI_Status& status) {
  int is_cancelled = 0;
  return mpi.test_cancelled(&status, &is_cancelled) == MPI_SUCCESS && is_cancelled != 0;
}

/// Records that the operation of a request is complete.
void completed(Call& call, std::uint64_t handle, const MPI_Status& status) {
  std::optional<PostedOperation> operation = call.session().requests.take(handle, &call.thread(), Persistent::stays);
  if (!operation || !operation->is_active) {
    return;  // not recorded, or a persistent one that is not started
  }
  call.session().pending.end();
  ++call.event().count;
  if (operation->is_to_be_cancelled && was_cancelled(call.mpi(), status)) {
    return;
  }
  if (operation->kind == OperationKind::collective) {
    trace::CallEvent event = operation->call;
    event.what = trace::CallClass::begun_collective;
    event.end = call.event().end;
    call.thread().record_whole(event);
    return;
  }
  if (operation->kind == OperationKind::receive) {
    if (operation->members != nullptr) {
      operation->call.peer = operation->members->rank_of_run(status.MPI_SOURCE);
    }
    operation->tag = status.MPI_TAG;
    operation->call.bytes_given = call.mpi().bytes_received(status);
  }
  record_message(call.thread(), *operation, call.event().end);
}

}  // namespace

void sent(Call& call, const MessageArguments& envelope, std::uint32_t nth) {
  PostedOperation operation = posted(call, OperationKind::send, envelope);
  operation.call.number += nth;
  call.gives(operation.call.bytes_given);
  record_message(call.thread(), operation, call.event().end);
}

void received(Call& call, const MessageArguments& envelope, const MPI_Status& status, std::uint32_t nth) {
  const Communicator& communicator = call.on(envelope.communicator);
  if (envelope.peer == MPI_PROC_NULL) {
    return;
  }
  PostedOperation operation = call.operation(OperationKind::receive);
  operation.call.number += nth;
  operation.call.peer = communicator.rank_of_run(status.MPI_SOURCE);
  operation.call.bytes_given = call.mpi().bytes_received(status);
  operation.tag = status.MPI_TAG;
  call.event().peer = operation.call.peer;
  call.gets(operation.call.bytes_given);
  record_message(call.thread(), operation, call.event().end);
}

void message_begun(Call& call, OperationKind kind, const MessageArguments& envelope, MPI_Request request) {
  const PostedOperation operation = posted(call, kind, envelope);
  if (kind == OperationKind::send) {
    call.gives(operation.call.bytes_given);
  }
  if (envelope.peer != MPI_PROC_NULL) {
    call.begins(request, operation);
  }
}

void message_prepared(Call& call, OperationKind kind, const MessageArguments& envelope, MPI_Request request) {
  PostedOperation operation = posted(call, kind, envelope);
  operation.is_persistent = true;
  operation.is_active = false;
  if (envelope.peer != MPI_PROC_NULL) {
    call.begins(request, operation);
  }
}

void starting(Call& call, int count, const MPI_Request* requests) {
  const nanoseconds now = call.session().now();
  trace::CallEvent& event = call.event();
  event.start = now;  // readers find the call of a message by its time
  for (int i = 0; i < count; ++i) {
    std::shared_ptr<const Traffic> traffic;
    trace::CallEvent collective;
    call.session().requests.alter(key_of(requests[i]), [&](PostedOperation& operation) {
      if (operation.is_active) {
        return;  // an error of the program, which MPI reports
      }
      operation.is_active = true;
      trace::CallEvent& started = operation.call;
      started.number = event.number + static_cast<std::uint32_t>(i);
      started.start = now;
      started.site = event.site;
      if (operation.kind == OperationKind::collective) {
        event.what = trace::CallClass::begins_collective;
        event.communicator = started.communicator;
        started.count = operation.members->collective_count.fetch_add(1, std::memory_order_relaxed);
        event.count = started.count;
        event.bytes_got += started.bytes_got;
        traffic = operation.traffic;
        collective = started;
      } else if (count == 1) {
        event.communicator = started.communicator;
        event.peer = started.peer;
      }
      event.bytes_given += operation.kind == OperationKind::receive ? 0 : started.bytes_given;
      call.session().pending.begin();
    });
    if (traffic != nullptr) {
      record_details(call, collective, *traffic);
    }
  }
}

void note_requests(Call& call, int count, const MPI_Request* requests) {
  std::vector<std::uint64_t>& handles = call.thread().handles;
  handles.resize(static_cast<std::size_t>(std::max(count, 0)));
  std::transform(requests, requests + handles.size(), handles.begin(), key_of<MPI_Request>);
}

MPI_Status* statuses_or_own(Call& call, int count, MPI_Status* callers) {
  if (callers != MPI_STATUSES_IGNORE) {
    return callers;
  }
  std::vector<MPI_Status>& own = call.thread().statuses;
  if (own.size() < static_cast<std::size_t>(std::max(count, 1))) {
    own.resize(static_cast<std::size_t>(std::max(count, 1)));
  }
  return own.data();
}

void all_completed(Call& call, int result, const MPI_Request* requests, const MPI_Status* statuses) {
  const std::vector<std::uint64_t>& handles = call.thread().handles;
  const std::uint64_t null = key_of(call.mpi().request_null);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (handles[i] == null) {
      continue;
    }
    if (result == MPI_SUCCESS || statuses[i].MPI_ERROR == MPI_SUCCESS) {
      completed(call, handles[i], statuses[i]);
    } else if (key_of(requests[i]) == null &&
               call.session().requests.take(handles[i], &call.thread(), Persistent::goes)) {
      call.session().pending.end();  // failed: MPI has freed the request
    }
  }
}

void one_completed(Call& call, int index, const MPI_Status& status) {
  const std::vector<std::uint64_t>& handles = call.thread().handles;
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
  const std::optional<PostedOperation> operation =
      call.session().requests.take(key_of(request), &call.thread(), Persistent::goes);
  if (operation && operation->is_active) {
    call.session().pending.end();
    record_message(call.thread(), *operation, nanoseconds{});
  }
}

void cancelling(Call& call, MPI_Request request) {
  call.session().requests.alter(key_of(request),
                                [](PostedOperation& operation) { operation.is_to_be_cancelled = true; });
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
  call.session().handles.probed.set(key_of(message),
                                    {.communicator = call.event().communicator,
                                     .peer = call.event().peer,
                                     .number = call.event().number,
                                     .tag = status.MPI_TAG});
}

ProbedMessage take_probed(Call& call, MPI_Message message) {
  return call.session().handles.probed.take(key_of(message));
}

void matched_received(Call& call, const ProbedMessage& probed, const MPI_Status& status) {
  if (probed.number != 0) {
    PostedOperation operation = posted_matched(call, probed);
    operation.call.bytes_given = call.mpi().bytes_received(status);
    call.gets(operation.call.bytes_given);
    record_message(call.thread(), operation, call.event().end);
  }
}

void matched_receive_begun(Call& call, const ProbedMessage& probed, MPI_Request request) {
  if (probed.number != 0) {
    call.begins(request, posted_matched(call, probed));
  }
}

}  // namespace plait::record
