// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that probe for messages, and receive those that a probe has claimed.
#include <optional>
#include <utility>

#include "plait/accelerate/engine/arguments.hpp"
#include "plait/accelerate/engine/routes.hpp"
#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

namespace {

/// The communicator of a probe that the engine serves; null for what goes to the MPI library.
RoutedCommunicator* probed_on(EngineSession& session, MPI_Comm handle, int source, int tag) {
  return routed(session, handle, {nullptr, 0, MPI_BYTE, source, tag}, true);
}

Outcome outcome_of(const RoutedCommunicator& on, const comm::Status& status) {
  return {on.rank_here(status.source), static_cast<int>(status.tag.value()), status.bytes};
}

/// Probes once. True when there is a message.
bool probe_once(EngineSession& session, RoutedCommunicator& on, int source, int tag, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    fill(status, {.source = MPI_PROC_NULL});
    return true;
  }
  const std::optional<comm::Status> found = session.endpoint().probe(on.address(source, tag));
  if (found) {
    fill(status, outcome_of(on, *found));
  }
  return found.has_value();
}

bool claim_once(
    EngineSession& session, RoutedCommunicator& on, int source, int tag, MPI_Message* message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    *message = MPI_MESSAGE_NO_PROC;
    fill(status, {.source = MPI_PROC_NULL});
    return true;
  }
  std::optional<comm::ClaimedMessage> found = session.endpoint().claim(on.address(source, tag));
  if (!found) {
    return false;
  }
  fill(status, outcome_of(on, found->status()));
  *message = session.probed().handle_of(session.probed().pool().make(&on, std::move(*found)));
  on.outstanding.fetch_add(1, std::memory_order_relaxed);  // a count by itself
  return true;
}

int probe(int source, int tag, MPI_Comm handle, MPI_Status* status) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = probed_on(session, handle, source, tag);
  if (on == nullptr) {
    return PMPI_Probe(source, tag, handle, status);
  }
  return session.guarded(handle,
                         [&] { session.wait_until([&] { return probe_once(session, *on, source, tag, status); }); });
}

int iprobe(int source, int tag, MPI_Comm handle, int* flag, MPI_Status* status) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = probed_on(session, handle, source, tag);
  if (on == nullptr) {
    return PMPI_Iprobe(source, tag, handle, flag, status);
  }
  return session.guarded(handle, [&] {
    session.progress();
    *flag = probe_once(session, *on, source, tag, status) ? 1 : 0;
  });
}

int mprobe(int source, int tag, MPI_Comm handle, MPI_Message* message, MPI_Status* status) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = probed_on(session, handle, source, tag);
  if (on == nullptr) {
    return PMPI_Mprobe(source, tag, handle, message, status);
  }
  return session.guarded(
      handle, [&] { session.wait_until([&] { return claim_once(session, *on, source, tag, message, status); }); });
}

int improbe(int source, int tag, MPI_Comm handle, int* flag, MPI_Message* message, MPI_Status* status) {
  EngineSession& session = use_session();
  RoutedCommunicator* const on = probed_on(session, handle, source, tag);
  if (on == nullptr) {
    return PMPI_Improbe(source, tag, handle, flag, message, status);
  }
  return session.guarded(handle, [&] {
    session.progress();
    *flag = claim_once(session, *on, source, tag, message, status) ? 1 : 0;
  });
}

/// Takes the message out of its handle.
Probed take(EngineSession& session, Probed& probed, MPI_Message* message) {
  Probed taken{probed.on, std::move(probed.message)};
  session.probed().pool().end(probed);
  taken.on->outstanding.fetch_sub(1, std::memory_order_release);  // with acquire where a communicator ends
  *message = MPI_MESSAGE_NULL;
  return taken;
}

template <auto real, class Count>
int mrecv(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  EngineSession& session = use_session();
  Probed* const probed = session.probed().find(*message);
  if (probed == nullptr) {
    return real(buffer, count, type, message, status);
  }
  RoutedCommunicator& on = *probed->on;
  Outcome outcome;
  const int trouble = session.guarded(on.handle(), [&] {
    MessageTransfer transfer;
    transfer.receive(session, on, {buffer, count, type}, take(session, *probed, message).message);
    session.wait(transfer.request());
    outcome = transfer.end(on);
    fill(status, outcome);
  });
  return trouble != MPI_SUCCESS ? trouble : session.report(on.handle(), outcome.error);
}

template <auto real, class Count>
int imrecv(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  EngineSession& session = use_session();
  Probed* const probed = session.probed().find(*message);
  if (probed == nullptr) {
    return session.foreign().begun(real(buffer, count, type, message, request), request);
  }
  return session.begin(*probed->on, request, [&](PendingOperation& pending) {
    pending.is_active = true;
    RoutedCommunicator& on = *probed->on;
    pending.transfer.receive(session, on, {buffer, count, type}, take(session, *probed, message).message);
  });
}

}  // namespace

std::vector<FunctionRoute> probe_routes() {
  return {
      route<decltype(::PMPI_Probe)>("PMPI_Probe", probe),
      route<decltype(::PMPI_Iprobe)>("PMPI_Iprobe", iprobe),
      route<decltype(::PMPI_Mprobe)>("PMPI_Mprobe", mprobe),
      route<decltype(::PMPI_Improbe)>("PMPI_Improbe", improbe),
      route<decltype(::PMPI_Mrecv)>("PMPI_Mrecv", mrecv<&PMPI_Mrecv, int>),
      route<decltype(::PMPI_Imrecv)>("PMPI_Imrecv", imrecv<&PMPI_Imrecv, int>),
#if MPI_VERSION >= 4
      route<decltype(::PMPI_Mrecv_c)>("PMPI_Mrecv_c", mrecv<&PMPI_Mrecv_c, MPI_Count>),
      route<decltype(::PMPI_Imrecv_c)>("PMPI_Imrecv_c", imrecv<&PMPI_Imrecv_c, MPI_Count>),
#endif
  };
}

}  // namespace plait::accelerate
