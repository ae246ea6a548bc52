// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks, and requests, of simulated ranks.
#include <algorithm>
#include <memory>
#include <span>

#include "plait/base/error.hpp"
#include "plait/simulate/preload/mpi_call.hpp"

namespace plait::simulate {
namespace {

/// What a call takes that finds nothing: who polls lets time pass.
constexpr nanoseconds poll_length{200};

void set_status(MPI_Status* status, const SimulatedRequest& request, int source) {
  if (status == MPI_STATUS_IGNORE) {
    return;
  }
  status->MPI_SOURCE = source;
  status->MPI_TAG = request.tag;
  status->MPI_ERROR = MPI_SUCCESS;
  PMPI_Status_set_elements(status, MPI_BYTE, static_cast<int>(request.bytes));
  PMPI_Status_set_cancelled(status, request.is_canceled ? 1 : 0);
}

int source_in(const MpiCall& call, const SimulatedRequest& request) {
  if (!request.source || request.communicator == MPI_COMM_NULL) {
    return MPI_ANY_SOURCE;
  }
  return static_cast<int>(call.communicator(request.communicator).rank_of(request.source).value_or(0));
}

RequestPointer start_send(const MpiCall& call, const TypedElements& from, int to, int tag, MPI_Comm comm) {
  auto request = std::make_shared<SimulatedRequest>();
  if (to != MPI_PROC_NULL) {
    const SimulatedCommunicator& communicator = call.communicator(comm);
    Parts parts;
    parts.push_back(from.pack());
    call.messages().send(call.self,
                         communicator.member(to),
                         communicator.number(),
                         tag,
                         std::make_shared<const Parts>(std::move(parts)),
                         request);
  }
  return request;
}

RequestPointer start_receive(const MpiCall& call, const TypedElements& into, int from, int tag, MPI_Comm comm) {
  auto request = std::make_shared<SimulatedRequest>();
  request->communicator = comm;
  if (from == MPI_PROC_NULL) {
    request->communicator = MPI_COMM_NULL;
    return request;
  }
  const SimulatedCommunicator& communicator = call.communicator(comm);
  const MessagePattern wanted{communicator.number(),
                              from == MPI_ANY_SOURCE ? std::nullopt : std::optional{communicator.member(from)},
                              tag == MPI_ANY_TAG ? std::nullopt : std::optional{tag}};
  call.messages().receive(call.self, wanted, request, [into](const Payload& data) {
    if (data->front().size() > into.bytes()) {
      refuse("a receive", "a message is longer than the buffer of its receive");
    }
    into.unpack(data->front());
  });
  return request;
}

void finish(const MpiCall& call, MPI_Request* handle, MPI_Status* status) {
  const RequestPointer request = call.messages().find(*handle);
  call.messages().wait(call.self, *request);
  set_status(status, *request, source_in(call, *request));
  call.messages().forget(*handle);
  *handle = MPI_REQUEST_NULL;
}

bool is_complete(const MpiCall& call, MPI_Request handle) {
  return handle == MPI_REQUEST_NULL || call.messages().find(handle)->pending == 0;
}

MPI_Status* status_at(MPI_Status* statuses, int index) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + index;
}

void finish_all(const MpiCall& call, std::span<MPI_Request> handles, MPI_Status* statuses) {
  for (int i = 0; i < static_cast<int>(handles.size()); ++i) {
    if (handles[static_cast<std::size_t>(i)] != MPI_REQUEST_NULL) {
      finish(call, &handles[static_cast<std::size_t>(i)], status_at(statuses, i));
    }
  }
}

/// Finishes those that are complete. Returns their number, or MPI_UNDEFINED when there are no requests.
int finish_some(const MpiCall& call, std::span<MPI_Request> handles, int* indices, MPI_Status* statuses) {
  if (std::ranges::all_of(handles, [](MPI_Request handle) { return handle == MPI_REQUEST_NULL; })) {
    return MPI_UNDEFINED;
  }
  int count = 0;
  for (int i = 0; i < static_cast<int>(handles.size()); ++i) {
    MPI_Request& handle = handles[static_cast<std::size_t>(i)];
    if (handle != MPI_REQUEST_NULL && is_complete(call, handle)) {
      finish(call, &handle, status_at(statuses, count));
      indices[count++] = i;
    }
  }
  return count;
}

std::span<MPI_Request> requests(int count, MPI_Request* handles) {
  return {handles, static_cast<std::size_t>(count)};
}

void pass_poll(const MpiCall& call, bool found) {
  if (!found) {
    call.messages().check_alive();
    call.simulation.time().wait_for(poll_length);
  }
}

void wait_for_any(const MpiCall& call, std::span<MPI_Request> handles) {
  const auto is_done = [&](MPI_Request handle) { return handle != MPI_REQUEST_NULL && is_complete(call, handle); };
  while (std::ranges::none_of(handles, is_done)) {
    call.messages().wait_for_event(call.self);
  }
}

int send_and_wait(const char* function, const TypedElements& from, int to, int tag, MPI_Comm comm) {
  return run_call(
      function, [&](const MpiCall& call) { call.messages().wait(call.self, *start_send(call, from, to, tag, comm)); });
}

int send_at_once(
    const char* function, const TypedElements& from, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  return run_call(function,
                  [&](const MpiCall& call) { *request = call.messages().keep(start_send(call, from, to, tag, comm)); });
}

}  // namespace
}  // namespace plait::simulate

using plait::simulate::elements_of;
using plait::simulate::MpiCall;
using plait::simulate::run_call;

// NOLINTBEGIN(readability-identifier-naming): names of the MPI standard
extern "C" {

[[gnu::visibility("default")]] int MPI_Send(
    const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator) {
  return plait::simulate::send_and_wait(__func__, elements_of(from, count, type), to, tag, communicator);
}

[[gnu::visibility("default")]] int MPI_Rsend(
    const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator) {
  return plait::simulate::send_and_wait(__func__, elements_of(from, count, type), to, tag, communicator);
}

[[gnu::visibility("default")]] int MPI_Isend(
    const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator, MPI_Request* request) {
  return plait::simulate::send_at_once(__func__, elements_of(from, count, type), to, tag, communicator, request);
}

[[gnu::visibility("default")]] int MPI_Irecv(
    void* into, int count, MPI_Datatype type, int from, int tag, MPI_Comm communicator, MPI_Request* request) {
  return run_call(__func__, [&](const MpiCall& call) {
    *request = call.messages().keep(
        plait::simulate::start_receive(call, elements_of(into, count, type), from, tag, communicator));
  });
}

[[gnu::visibility("default")]] int MPI_Recv(
    void* into, int count, MPI_Datatype type, int from, int tag, MPI_Comm communicator, MPI_Status* status) {
  return run_call(__func__, [&](const MpiCall& call) {
    MPI_Request handle = call.messages().keep(
        plait::simulate::start_receive(call, elements_of(into, count, type), from, tag, communicator));
    plait::simulate::finish(call, &handle, status);
  });
}

[[gnu::visibility("default")]] int MPI_Sendrecv(const void* from,
                                                int count,
                                                MPI_Datatype type,
                                                int to,
                                                int tag,
                                                void* into,
                                                int count_in,
                                                MPI_Datatype type_in,
                                                int source,
                                                int tag_in,
                                                MPI_Comm communicator,
                                                MPI_Status* status) {
  return run_call(__func__, [&](const MpiCall& call) {
    MPI_Request handle = call.messages().keep(
        plait::simulate::start_receive(call, elements_of(into, count_in, type_in), source, tag_in, communicator));
    const auto sent = plait::simulate::start_send(call, elements_of(from, count, type), to, tag, communicator);
    plait::simulate::finish(call, &handle, status);
    call.messages().wait(call.self, *sent);
  });
}

[[gnu::visibility("default")]] int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return run_call(__func__, [&](const MpiCall& call) {
    if (*request != MPI_REQUEST_NULL) {
      plait::simulate::finish(call, request, status);
    }
  });
}

[[gnu::visibility("default")]] int MPI_Waitall(int count, MPI_Request handles[], MPI_Status* statuses) {
  return run_call(__func__, [&](const MpiCall& call) {
    plait::simulate::finish_all(call, plait::simulate::requests(count, handles), statuses);
  });
}

[[gnu::visibility("default")]] int MPI_Waitany(int count, MPI_Request handles[], int* index, MPI_Status* status) {
  return run_call(__func__, [&](const MpiCall& call) {
    const auto all = plait::simulate::requests(count, handles);
    const auto exists = [](MPI_Request handle) { return handle != MPI_REQUEST_NULL; };
    *index = MPI_UNDEFINED;
    if (std::ranges::any_of(all, exists)) {
      plait::simulate::wait_for_any(call, all);
      const auto found = std::ranges::find_if(
          all, [&](MPI_Request handle) { return exists(handle) && plait::simulate::is_complete(call, handle); });
      *index = static_cast<int>(found - all.begin());
      plait::simulate::finish(call, &*found, status);
    }
  });
}

[[gnu::visibility("default")]] int MPI_Waitsome(
    int count, MPI_Request handles[], int* done, int indices[], MPI_Status* statuses) {
  return run_call(__func__, [&](const MpiCall& call) {
    const auto all = plait::simulate::requests(count, handles);
    while ((*done = plait::simulate::finish_some(call, all, indices, statuses)) == 0) {
      plait::simulate::wait_for_any(call, all);
    }
  });
}

[[gnu::visibility("default")]] int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return run_call(__func__, [&](const MpiCall& call) {
    *flag = plait::simulate::is_complete(call, *request) ? 1 : 0;
    if (*flag != 0 && *request != MPI_REQUEST_NULL) {
      plait::simulate::finish(call, request, status);
    }
    plait::simulate::pass_poll(call, *flag != 0);
  });
}

[[gnu::visibility("default")]] int MPI_Testall(int count, MPI_Request handles[], int* flag, MPI_Status* statuses) {
  return run_call(__func__, [&](const MpiCall& call) {
    const auto all = plait::simulate::requests(count, handles);
    *flag = std::ranges::all_of(all, [&](MPI_Request handle) { return plait::simulate::is_complete(call, handle); });
    if (*flag != 0) {
      plait::simulate::finish_all(call, all, statuses);
    }
    plait::simulate::pass_poll(call, *flag != 0);
  });
}

[[gnu::visibility("default")]] int MPI_Testsome(
    int count, MPI_Request handles[], int* done, int indices[], MPI_Status* statuses) {
  return run_call(__func__, [&](const MpiCall& call) {
    *done = plait::simulate::finish_some(call, plait::simulate::requests(count, handles), indices, statuses);
    plait::simulate::pass_poll(call, *done != 0);
  });
}

[[gnu::visibility("default")]] int MPI_Cancel(MPI_Request* request) {
  return run_call(
      __func__, [&](const MpiCall& call) { (void)call.messages().cancel(call.self, call.messages().find(*request)); });
}

[[gnu::visibility("default")]] int MPI_Request_free(MPI_Request* request) {
  return run_call(__func__, [&](const MpiCall& call) {
    call.messages().forget(*request);
    *request = MPI_REQUEST_NULL;
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
