// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/buffered.hpp"

#include <algorithm>
#include <utility>

#include "plait/accelerate/engine/session.hpp"
#include "plait/accelerate/engine/transfer.hpp"

namespace plait::accelerate {

bool SendBuffer::attach(void* memory, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  if (is_attached_) {
    return false;
  }
  memory_ = memory;
  bytes_ = bytes;
  is_attached_ = true;
  return true;
}

std::pair<void*, std::size_t> SendBuffer::detach(EngineSession& session) {
  session.wait_until([this] {
    const std::lock_guard lock{mutex_};
    drop_complete();
    return copies_.empty();
  });
  const std::lock_guard lock{mutex_};
  is_attached_ = false;
  return {std::exchange(memory_, nullptr), std::exchange(bytes_, 0)};
}

comm::Request SendBuffer::send(comm::Endpoint& endpoint,
                               const comm::Address& to,
                               const TypedMessage& what,
                               const Datatype& type) {
  Bytes data = packed_bytes(what, type);
  const std::lock_guard lock{mutex_};
  const std::size_t needed = data.size() + MPI_BSEND_OVERHEAD;
  if (used_ + needed > bytes_) {
    drop_complete();
    endpoint.progress();
    drop_complete();
  }
  if (used_ + needed > bytes_) {
    throw MpiError{MPI_ERR_BUFFER};
  }
  Copy& copy = copies_.emplace_back(Copy{std::move(data), {}});
  used_ += needed;
  copy.request = endpoint.send(to, std::span<const std::byte>{copy.data});
  return comm::Request{comm::Status{}};
}

void SendBuffer::drop_complete() {
  std::erase_if(copies_, [this](const Copy& copy) {
    if (!copy.request.is_complete()) {
      return false;
    }
    used_ -= copy.data.size() + MPI_BSEND_OVERHEAD;
    return true;
  });
}

}  // namespace plait::accelerate
