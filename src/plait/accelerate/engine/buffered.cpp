// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/buffered.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "plait/accelerate/engine/routes.hpp"
#include "plait/accelerate/engine/session.hpp"
#include "plait/accelerate/engine/transfer.hpp"

namespace plait::accelerate {

void SendBuffer::attach(std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  bytes_ = bytes;
  is_attached_.store(true, std::memory_order_release);  // with acquire in is_attached()
}

void SendBuffer::detach(EngineSession& session) {
  flush(session);
  const std::lock_guard lock{mutex_};
  bytes_ = 0;
  is_attached_.store(false, std::memory_order_release);  // with acquire in is_attached()
}

void SendBuffer::flush(EngineSession& session) {
  session.wait_until([this] { return is_idle(); });
}

bool SendBuffer::is_idle() {
  const std::lock_guard lock{mutex_};
  drop_complete();
  return copies_.empty();
}

void SendBuffer::release() {
  const std::lock_guard lock{mutex_};
  for (Copy& copy : copies_) {
    copy.room = 0;
  }
  used_ = 0;
}

comm::Request SendBuffer::send(comm::Endpoint& endpoint,
                               const comm::Address& to,
                               const TypedMessage& what,
                               const Datatype& type) {
  Bytes data = packed_bytes(what, type);
  const std::lock_guard lock{mutex_};
  const std::size_t needed = data.size() + MPI_BSEND_OVERHEAD;
  const auto is_full = [&] { return used_ > bytes_ || needed > bytes_ - used_; };
  if (is_full()) {
    drop_complete();
    endpoint.progress();
    drop_complete();
  }
  if (is_full()) {
    throw MpiError{MPI_ERR_BUFFER};
  }
  Copy& copy = copies_.emplace_back(Copy{std::move(data), needed, {}});
  used_ += needed;
  copy.request = endpoint.send(to, std::span<const std::byte>{copy.data});
  return comm::Request{comm::Status{}};
}

void SendBuffer::drop_complete() {
  std::erase_if(copies_, [this](const Copy& copy) {
    if (!copy.request.is_complete()) {
      return false;
    }
    used_ -= copy.room;
    return true;
  });
}

// ---- functions of MPI ----

namespace {

std::size_t room_of([[maybe_unused]] const void* memory, MPI_Count bytes) {
#ifdef MPI_BUFFER_AUTOMATIC
  if (memory == MPI_BUFFER_AUTOMATIC) {
    return std::numeric_limits<std::size_t>::max();
  }
#endif
  return static_cast<std::size_t>(bytes);
}

template <auto real, class Count>
int buffer_attach(void* memory, Count bytes) {
  const int result = real(memory, bytes);
  if (result == MPI_SUCCESS) {
    use_session().buffered().attach(room_of(memory, bytes));
  }
  return result;
}

template <auto real, class Count>
int buffer_detach(void* memory, Count* bytes) {
  const int trouble = use_session().guarded(MPI_COMM_SELF, [] { use_session().buffered().detach(use_session()); });
  return trouble != MPI_SUCCESS ? trouble : real(memory, bytes);
}

#if MPI_VERSION * 100 + MPI_SUBVERSION >= 401

int buffer_flush() {
  const int trouble = use_session().guarded(MPI_COMM_SELF, [] { use_session().buffered().flush(use_session()); });
  return trouble != MPI_SUCCESS ? trouble : PMPI_Buffer_flush();
}

int buffer_iflush(MPI_Request* request) {
  use_session().buffered().release();
  return use_session().foreign().begun(PMPI_Buffer_iflush(request), request);
}

template <auto real, class Count>
int comm_attach_buffer(MPI_Comm handle, void* memory, Count bytes) {
  const int result = real(handle, memory, bytes);
  RoutedCommunicator* const on = use_session().communicators().find(handle);
  if (result == MPI_SUCCESS && on != nullptr) {
    on->buffered.attach(room_of(memory, bytes));
  }
  return result;
}

/// Calls `wait` with the communicator's buffer, if its messages are routed, and then `real`.
template <class Wait, class Real>
int after(MPI_Comm handle, const Wait& wait, const Real& real) {
  RoutedCommunicator* const on = use_session().communicators().find(handle);
  if (on != nullptr) {
    if (const int trouble = use_session().guarded(handle, [&] { wait(on->buffered); }); trouble != MPI_SUCCESS) {
      return trouble;
    }
  }
  return real();
}

template <auto real, class Count>
int comm_detach_buffer(MPI_Comm handle, void* memory, Count* bytes) {
  return after(
      handle, [](SendBuffer& buffer) { buffer.detach(use_session()); }, [&] { return real(handle, memory, bytes); });
}

int comm_flush_buffer(MPI_Comm handle) {
  return after(
      handle, [](SendBuffer& buffer) { buffer.flush(use_session()); }, [&] { return PMPI_Comm_flush_buffer(handle); });
}

int comm_iflush_buffer(MPI_Comm handle, MPI_Request* request) {
  return after(
      handle,
      [](SendBuffer& buffer) { buffer.release(); },
      [&] { return use_session().foreign().begun(PMPI_Comm_iflush_buffer(handle, request), request); });
}

#endif

}  // namespace

std::vector<FunctionRoute> buffer_routes() {
  return {
      route<decltype(::PMPI_Buffer_attach)>("PMPI_Buffer_attach", buffer_attach<&PMPI_Buffer_attach, int>),
      route<decltype(::PMPI_Buffer_detach)>("PMPI_Buffer_detach", buffer_detach<&PMPI_Buffer_detach, int>),
#if MPI_VERSION >= 4
      route<decltype(::PMPI_Buffer_attach_c)>("PMPI_Buffer_attach_c", buffer_attach<&PMPI_Buffer_attach_c, MPI_Count>),
      route<decltype(::PMPI_Buffer_detach_c)>("PMPI_Buffer_detach_c", buffer_detach<&PMPI_Buffer_detach_c, MPI_Count>),
#endif
#if MPI_VERSION * 100 + MPI_SUBVERSION >= 401
      route<decltype(::PMPI_Buffer_flush)>("PMPI_Buffer_flush", buffer_flush),
      route<decltype(::PMPI_Buffer_iflush)>("PMPI_Buffer_iflush", buffer_iflush),
      route<decltype(::PMPI_Comm_attach_buffer)>("PMPI_Comm_attach_buffer",
                                                 comm_attach_buffer<&PMPI_Comm_attach_buffer, int>),
      route<decltype(::PMPI_Comm_attach_buffer_c)>("PMPI_Comm_attach_buffer_c",
                                                   comm_attach_buffer<&PMPI_Comm_attach_buffer_c, MPI_Count>),
      route<decltype(::PMPI_Comm_detach_buffer)>("PMPI_Comm_detach_buffer",
                                                 comm_detach_buffer<&PMPI_Comm_detach_buffer, int>),
      route<decltype(::PMPI_Comm_detach_buffer_c)>("PMPI_Comm_detach_buffer_c",
                                                   comm_detach_buffer<&PMPI_Comm_detach_buffer_c, MPI_Count>),
      route<decltype(::PMPI_Comm_flush_buffer)>("PMPI_Comm_flush_buffer", comm_flush_buffer),
      route<decltype(::PMPI_Comm_iflush_buffer)>("PMPI_Comm_iflush_buffer", comm_iflush_buffer),
#endif
  };
}

}  // namespace plait::accelerate
