// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that send and receive.
#include <vector>

#include "plait/accelerate/engine/arguments.hpp"
#include "plait/accelerate/engine/routes.hpp"
#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

namespace {

/// A send reads only; its buffer's type is that of receives.
TypedMessage sending(const void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag) {
  return {const_cast<void*>(buffer), count, type, peer, tag};
}

/// Waits for a transfer and ends it. Returns an error code that the handler has seen.
int complete(EngineSession& session, RoutedCommunicator& on, MessageTransfer& transfer, MPI_Status* status) {
  int error = MPI_SUCCESS;
  const int trouble = session.guarded(on.handle(), [&] {
    session.wait(transfer.request());
    const Outcome outcome = transfer.end(on);
    fill(status, outcome);
    error = outcome.error;
  });
  return trouble != MPI_SUCCESS ? trouble : session.report(on.handle(), error);
}

// ---- blocking ----

template <class Real>
int send(const TypedMessage& what, MPI_Comm handle, SendMode mode, const Real& real) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = routed(session, handle, what, false);
  if (on == nullptr) {
    return real();
  }
  MessageTransfer transfer;
  const int trouble = session.guarded(handle, [&] { transfer.send(session, *on, what, mode); });
  return trouble != MPI_SUCCESS ? trouble : complete(session, *on, transfer, MPI_STATUS_IGNORE);
}

template <class Real>
int receive(const TypedMessage& what, MPI_Comm handle, MPI_Status* status, const Real& real) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = routed(session, handle, what, true);
  if (on == nullptr) {
    return real();
  }
  MessageTransfer transfer;
  const int trouble = session.guarded(handle, [&] { transfer.receive(session, *on, what); });
  return trouble != MPI_SUCCESS ? trouble : complete(session, *on, transfer, status);
}

template <class Real>
int send_and_receive(
    const TypedMessage& to, const TypedMessage& from, MPI_Comm handle, MPI_Status* status, const Real& real) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = routed(session, handle, to, false);
  if (on == nullptr || routed(session, handle, from, true) == nullptr) {
    return real();
  }
  MessageTransfer received;
  MessageTransfer sent;
  const int trouble = session.guarded(handle, [&] {
    received.receive(session, *on, from);
    sent.send(session, *on, to, SendMode::standard);
    session.wait(sent.request());
    (void)sent.end(*on);
  });
  return trouble != MPI_SUCCESS ? trouble : complete(session, *on, received, status);
}

template <class Real>
int replace(const TypedMessage& what, int to, int to_tag, MPI_Comm handle, MPI_Status* status, const Real& real) {
  EngineSession& session = use_session();
  const TypedMessage given{what.buffer, what.count, what.type, to, to_tag};
  RoutedCommunicator* const on = routed(session, handle, what, true);
  if (on == nullptr || routed(session, handle, given, false) == nullptr) {
    return real();
  }
  MessageTransfer received;
  MessageTransfer sent;
  const int trouble = session.guarded(handle, [&] {
    sent.send_copy(session, *on, given);
    received.receive(session, *on, what);
    session.wait(sent.request());
    (void)sent.end(*on);
  });
  return trouble != MPI_SUCCESS ? trouble : complete(session, *on, received, status);
}

// ---- not blocking ----

template <class Real>
int begin_send(const TypedMessage& what, MPI_Comm handle, SendMode mode, MPI_Request* request, const Real& real) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = routed(session, handle, what, false);
  if (on == nullptr) {
    return real();
  }
  return session.begin(*on, request, [&](PendingOperation& pending) {
    pending.kind = PendingOperation::Kind::send;
    pending.is_active = true;
    pending.transfer.send(session, *on, what, mode);
  });
}

template <class Real>
int begin_receive(const TypedMessage& what, MPI_Comm handle, MPI_Request* request, const Real& real) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = routed(session, handle, what, true);
  if (on == nullptr) {
    return real();
  }
  return session.begin(*on, request, [&](PendingOperation& pending) {
    pending.is_active = true;
    pending.transfer.receive(session, *on, what);
  });
}

template <class Real>
int begin_both(
    const TypedMessage& to, const TypedMessage& from, MPI_Comm handle, MPI_Request* request, const Real& real) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = routed(session, handle, to, false);
  if (on == nullptr || routed(session, handle, from, true) == nullptr) {
    return real();
  }
  return session.begin(*on, request, [&](PendingOperation& pending) {
    pending.kind = PendingOperation::Kind::send_and_receive;
    pending.is_active = true;
    pending.transfer.receive(session, *on, from);
    pending.add_rest().sent.send(session, *on, to, SendMode::standard);
  });
}

template <class Real>
int prepare(const TypedMessage& what,
            MPI_Comm handle,
            PendingOperation::Kind kind,
            SendMode mode,
            MPI_Request* request,
            const Real& real) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = routed(session, handle, what, kind == PendingOperation::Kind::receive);
  if (on == nullptr) {
    return real();
  }
  return session.begin(*on, request, [&](PendingOperation& pending) {
    pending.kind = kind;
    pending.mode = mode;
    pending.is_persistent = true;
    pending.add_rest().arguments = what;
  });
}

int start(MPI_Request* request) {
  PendingOperation* const pending = use_session().requests().find(*request);
  if (pending == nullptr || !pending->is_persistent || pending->is_active) {
    const int result = PMPI_Start(request);
    use_session().foreign().started(result, *request);
    return result;
  }
  return use_session().guarded(pending->on->handle(), [&] { pending->start(use_session()); });
}

int startall(int count, MPI_Request* requests) {
  for (int i = 0; i < count; ++i) {
    if (const int trouble = start(&requests[i]); trouble != MPI_SUCCESS) {
      return trouble;
    }
  }
  return MPI_SUCCESS;
}

// ---- the functions, for both widths of counts ----

constexpr SendMode standard = SendMode::standard;
constexpr SendMode synchronous = SendMode::synchronous;
constexpr SendMode buffered = SendMode::buffered;

template <SendMode mode, auto real, class Count>
int send_function(const void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  return send(
      sending(buffer, count, type, peer, tag), comm, mode, [&] { return real(buffer, count, type, peer, tag, comm); });
}

template <SendMode mode, auto real, class Count>
int isend_function(
    const void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  return begin_send(sending(buffer, count, type, peer, tag), comm, mode, request, [&] {
    return use_session().foreign().begun(real(buffer, count, type, peer, tag, comm, request), request);
  });
}

template <SendMode mode, auto real, class Count>
int send_init_function(
    const void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  return prepare(sending(buffer, count, type, peer, tag), comm, PendingOperation::Kind::send, mode, request, [&] {
    return use_session().foreign().prepared(real(buffer, count, type, peer, tag, comm, request), request);
  });
}

template <auto real, class Count>
int recv_function(void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status* status) {
  return receive({buffer, count, type, peer, tag}, comm, status, [&] {
    return real(buffer, count, type, peer, tag, comm, status);
  });
}

template <auto real, class Count>
int irecv_function(
    void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  return begin_receive({buffer, count, type, peer, tag}, comm, request, [&] {
    return use_session().foreign().begun(real(buffer, count, type, peer, tag, comm, request), request);
  });
}

template <auto real, class Count>
int recv_init_function(
    void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  return prepare({buffer, count, type, peer, tag}, comm, PendingOperation::Kind::receive, standard, request, [&] {
    return use_session().foreign().prepared(real(buffer, count, type, peer, tag, comm, request), request);
  });
}

template <auto real, class Count>
int sendrecv_function(const void* given,
                      Count given_count,
                      MPI_Datatype given_type,
                      int to,
                      int to_tag,
                      void* got,
                      Count got_count,
                      MPI_Datatype got_type,
                      int from,
                      int from_tag,
                      MPI_Comm comm,
                      MPI_Status* status) {
  return send_and_receive(
      sending(given, given_count, given_type, to, to_tag),
      {got, got_count, got_type, from, from_tag},
      comm,
      status,
      [&] {
        return real(given, given_count, given_type, to, to_tag, got, got_count, got_type, from, from_tag, comm, status);
      });
}

template <auto real, class Count>
int sendrecv_replace_function(void* buffer,
                              Count count,
                              MPI_Datatype type,
                              int to,
                              int to_tag,
                              int from,
                              int from_tag,
                              MPI_Comm comm,
                              MPI_Status* status) {
  return replace({buffer, count, type, from, from_tag}, to, to_tag, comm, status, [&] {
    return real(buffer, count, type, to, to_tag, from, from_tag, comm, status);
  });
}

template <auto real, class Count>
int isendrecv_function(const void* given,
                       Count given_count,
                       MPI_Datatype given_type,
                       int to,
                       int to_tag,
                       void* got,
                       Count got_count,
                       MPI_Datatype got_type,
                       int from,
                       int from_tag,
                       MPI_Comm comm,
                       MPI_Request* request) {
  return begin_both(
      sending(given, given_count, given_type, to, to_tag),
      {got, got_count, got_type, from, from_tag},
      comm,
      request,
      [&] {
        return use_session().foreign().begun(
            real(given, given_count, given_type, to, to_tag, got, got_count, got_type, from, from_tag, comm, request),
            request);
      });
}

template <auto real, class Count>
int isendrecv_replace_function(void* buffer,
                               Count count,
                               MPI_Datatype type,
                               int to,
                               int to_tag,
                               int from,
                               int from_tag,
                               MPI_Comm comm,
                               MPI_Request* request) {
  const TypedMessage given{buffer, count, type, to, to_tag};
  const TypedMessage got{buffer, count, type, from, from_tag};
  EngineSession& session = use_session();
  RoutedCommunicator* const on = routed(session, comm, given, false);
  if (on == nullptr || routed(session, comm, got, true) == nullptr) {
    return session.foreign().begun(real(buffer, count, type, to, to_tag, from, from_tag, comm, request), request);
  }
  return session.begin(*on, request, [&](PendingOperation& pending) {
    pending.kind = PendingOperation::Kind::send_and_receive;
    pending.is_active = true;
    pending.add_rest().sent.send_copy(session, *on, given);
    pending.transfer.receive(session, *on, got);
  });
}

/// The routes of the functions with counts of this type.
template <class Count>
std::vector<FunctionRoute> routes_of_width();

template <>
std::vector<FunctionRoute> routes_of_width<int>() {
  return {
      route<decltype(::PMPI_Send)>("PMPI_Send", send_function<standard, &PMPI_Send, int>),
      route<decltype(::PMPI_Ssend)>("PMPI_Ssend", send_function<synchronous, &PMPI_Ssend, int>),
      route<decltype(::PMPI_Rsend)>("PMPI_Rsend", send_function<standard, &PMPI_Rsend, int>),
      route<decltype(::PMPI_Bsend)>("PMPI_Bsend", send_function<buffered, &PMPI_Bsend, int>),
      route<decltype(::PMPI_Isend)>("PMPI_Isend", isend_function<standard, &PMPI_Isend, int>),
      route<decltype(::PMPI_Issend)>("PMPI_Issend", isend_function<synchronous, &PMPI_Issend, int>),
      route<decltype(::PMPI_Irsend)>("PMPI_Irsend", isend_function<standard, &PMPI_Irsend, int>),
      route<decltype(::PMPI_Ibsend)>("PMPI_Ibsend", isend_function<buffered, &PMPI_Ibsend, int>),
      route<decltype(::PMPI_Send_init)>("PMPI_Send_init", send_init_function<standard, &PMPI_Send_init, int>),
      route<decltype(::PMPI_Ssend_init)>("PMPI_Ssend_init", send_init_function<synchronous, &PMPI_Ssend_init, int>),
      route<decltype(::PMPI_Rsend_init)>("PMPI_Rsend_init", send_init_function<standard, &PMPI_Rsend_init, int>),
      route<decltype(::PMPI_Bsend_init)>("PMPI_Bsend_init", send_init_function<buffered, &PMPI_Bsend_init, int>),
      route<decltype(::PMPI_Recv)>("PMPI_Recv", recv_function<&PMPI_Recv, int>),
      route<decltype(::PMPI_Irecv)>("PMPI_Irecv", irecv_function<&PMPI_Irecv, int>),
      route<decltype(::PMPI_Recv_init)>("PMPI_Recv_init", recv_init_function<&PMPI_Recv_init, int>),
      route<decltype(::PMPI_Sendrecv)>("PMPI_Sendrecv", sendrecv_function<&PMPI_Sendrecv, int>),
      route<decltype(::PMPI_Sendrecv_replace)>("PMPI_Sendrecv_replace",
                                               sendrecv_replace_function<&PMPI_Sendrecv_replace, int>),
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
      route<decltype(::PMPI_Isendrecv)>("PMPI_Isendrecv", isendrecv_function<&PMPI_Isendrecv, int>),
      route<decltype(::PMPI_Isendrecv_replace)>("PMPI_Isendrecv_replace",
                                                isendrecv_replace_function<&PMPI_Isendrecv_replace, int>),
#endif
  };
}

#if MPI_VERSION >= 4
template <>
std::vector<FunctionRoute> routes_of_width<MPI_Count>() {
  using C = MPI_Count;
  return {
      route<decltype(::PMPI_Send_c)>("PMPI_Send_c", send_function<standard, &PMPI_Send_c, C>),
      route<decltype(::PMPI_Ssend_c)>("PMPI_Ssend_c", send_function<synchronous, &PMPI_Ssend_c, C>),
      route<decltype(::PMPI_Rsend_c)>("PMPI_Rsend_c", send_function<standard, &PMPI_Rsend_c, C>),
      route<decltype(::PMPI_Bsend_c)>("PMPI_Bsend_c", send_function<buffered, &PMPI_Bsend_c, C>),
      route<decltype(::PMPI_Isend_c)>("PMPI_Isend_c", isend_function<standard, &PMPI_Isend_c, C>),
      route<decltype(::PMPI_Issend_c)>("PMPI_Issend_c", isend_function<synchronous, &PMPI_Issend_c, C>),
      route<decltype(::PMPI_Irsend_c)>("PMPI_Irsend_c", isend_function<standard, &PMPI_Irsend_c, C>),
      route<decltype(::PMPI_Ibsend_c)>("PMPI_Ibsend_c", isend_function<buffered, &PMPI_Ibsend_c, C>),
      route<decltype(::PMPI_Send_init_c)>("PMPI_Send_init_c", send_init_function<standard, &PMPI_Send_init_c, C>),
      route<decltype(::PMPI_Ssend_init_c)>("PMPI_Ssend_init_c", send_init_function<synchronous, &PMPI_Ssend_init_c, C>),
      route<decltype(::PMPI_Rsend_init_c)>("PMPI_Rsend_init_c", send_init_function<standard, &PMPI_Rsend_init_c, C>),
      route<decltype(::PMPI_Bsend_init_c)>("PMPI_Bsend_init_c", send_init_function<buffered, &PMPI_Bsend_init_c, C>),
      route<decltype(::PMPI_Recv_c)>("PMPI_Recv_c", recv_function<&PMPI_Recv_c, C>),
      route<decltype(::PMPI_Irecv_c)>("PMPI_Irecv_c", irecv_function<&PMPI_Irecv_c, C>),
      route<decltype(::PMPI_Recv_init_c)>("PMPI_Recv_init_c", recv_init_function<&PMPI_Recv_init_c, C>),
      route<decltype(::PMPI_Sendrecv_c)>("PMPI_Sendrecv_c", sendrecv_function<&PMPI_Sendrecv_c, C>),
      route<decltype(::PMPI_Sendrecv_replace_c)>("PMPI_Sendrecv_replace_c",
                                                 sendrecv_replace_function<&PMPI_Sendrecv_replace_c, C>),
      route<decltype(::PMPI_Isendrecv_c)>("PMPI_Isendrecv_c", isendrecv_function<&PMPI_Isendrecv_c, C>),
      route<decltype(::PMPI_Isendrecv_replace_c)>("PMPI_Isendrecv_replace_c",
                                                  isendrecv_replace_function<&PMPI_Isendrecv_replace_c, C>),
  };
}
#endif

}  // namespace

std::vector<FunctionRoute> message_routes() {
  std::vector<FunctionRoute> routes = routes_of_width<int>();
#if MPI_VERSION >= 4
  const std::vector<FunctionRoute> wide = routes_of_width<MPI_Count>();
  routes.insert(routes.end(), wide.begin(), wide.end());
#endif
  routes.push_back(route<decltype(::PMPI_Start)>("PMPI_Start", start));
  routes.push_back(route<decltype(::PMPI_Startall)>("PMPI_Startall", startall));
  return routes;
}

}  // namespace plait::accelerate
