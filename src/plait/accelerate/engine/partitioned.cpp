// SPDX-License-Identifier: Apache-2.0
// Partitioned communication of MPI 4: one message of the engine, sent when the last partition is ready.
#include "plait/accelerate/engine/partitioned.hpp"

#include <cstdint>
#include <vector>

#include "plait/accelerate/engine/arguments.hpp"
#include "plait/accelerate/engine/routes.hpp"
#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5

// Written by make_entries.py: the MPI library's, with what else a call of it needs.
decltype(::PMPI_Psend_init) foreign_Psend_init;
decltype(::PMPI_Precv_init) foreign_Precv_init;

namespace {

/// Operations match in the order in which they were made, whenever they are started: by a tag of their own.
std::uint64_t tag_of(RoutedCommunicator& on, bool is_send, int peer, int tag) {
  constexpr std::uint64_t partitioned_bit = std::uint64_t{1} << 60U;
  constexpr std::uint32_t number_max = (1U << 28U) - 1;
  const std::uint64_t number = on.partitioned.next(is_send, peer, tag) & number_max;
  return partitioned_bit | number << 32U | static_cast<std::uint32_t>(tag);
}

/// MPI_Psend_init or MPI_Precv_init, whose buffers differ; `real` serves what the engine does not.
template <auto real, bool is_send, class Buffer>
int partitioned_init(Buffer* buffer,
                     int partitions,
                     MPI_Count count,
                     MPI_Datatype type,
                     int peer,
                     int tag,
                     MPI_Comm comm,
                     MPI_Info info,
                     MPI_Request* request) {
  EngineSession& session = use_session();
  TypedMessage what{const_cast<void*>(buffer), count, type, peer, tag};
  RoutedCommunicator* const on = partitions >= 0 ? routed(session, comm, what, false) : nullptr;
  if (on == nullptr) {
    return real(buffer, partitions, count, type, peer, tag, comm, info, request);
  }
  what.count *= partitions;
  return session.begin(*on, request, [&](PendingOperation& pending) {
    what.internal_tag = peer == MPI_PROC_NULL ? 0 : tag_of(*on, is_send, peer, tag);
    pending.kind = is_send ? PendingOperation::Kind::partitioned_send : PendingOperation::Kind::receive;
    pending.is_persistent = true;
    RestOfOperation& rest = pending.add_rest();
    rest.arguments = what;
    rest.partitions = partitions;
  });
}

/// Null for what goes to the MPI library: its own requests, and those that have no partitions to mark.
PendingOperation* find_sending(MPI_Request request) {
  PendingOperation* const pending = use_session().requests().find(request);
  return pending != nullptr && pending->kind == PendingOperation::Kind::partitioned_send ? pending : nullptr;
}

int add_ready(PendingOperation& pending, int count) {
  EngineSession& session = use_session();
  return session.guarded(pending.on->handle(), [&] { pending.add_ready(session, count); });
}

int pready(int partition, MPI_Request request) {
  PendingOperation* const pending = find_sending(request);
  return pending == nullptr ? PMPI_Pready(partition, request) : add_ready(*pending, 1);
}

int pready_range(int first, int last, MPI_Request request) {
  PendingOperation* const pending = find_sending(request);
  return pending == nullptr ? PMPI_Pready_range(first, last, request) : add_ready(*pending, last - first + 1);
}

/// Open MPI declares the list without const.
template <class List>
int pready_list(int length, List* partitions, MPI_Request request) {
  PendingOperation* const pending = find_sending(request);
  return pending == nullptr ? PMPI_Pready_list(length, partitions, request) : add_ready(*pending, length);
}

int parrived(MPI_Request request, int partition, int* flag) {
  EngineSession& session = use_session();
  PendingOperation* const pending = session.requests().find(request);
  if (pending == nullptr) {
    return PMPI_Parrived(request, partition, flag);
  }
  if (!pending->is_complete()) {
    session.progress();
  }
  *flag = pending->is_complete() ? 1 : 0;
  return MPI_SUCCESS;
}

}  // namespace

std::vector<FunctionRoute> partitioned_routes() {
  return {
      route<decltype(::PMPI_Psend_init)>("PMPI_Psend_init", partitioned_init<&foreign_Psend_init, true>),
      route<decltype(::PMPI_Precv_init)>("PMPI_Precv_init", partitioned_init<&foreign_Precv_init, false>),
      route<decltype(::PMPI_Pready)>("PMPI_Pready", pready),
      route<decltype(::PMPI_Pready_range)>("PMPI_Pready_range", pready_range),
      route<decltype(::PMPI_Pready_list)>("PMPI_Pready_list", pready_list),
      route<decltype(::PMPI_Parrived)>("PMPI_Parrived", parrived),
  };
}

#else

std::vector<FunctionRoute> partitioned_routes() {
  return {};
}

#endif

}  // namespace plait::accelerate
