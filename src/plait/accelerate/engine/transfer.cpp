// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/transfer.hpp"

#include <span>
#include <utility>

#include "plait/accelerate/engine/session.hpp"
#include "plait/comm/layout.hpp"

namespace plait::accelerate {

namespace {

std::byte* first_of(const TypedMessage& what) {
  return static_cast<std::byte*>(what.buffer);
}

std::size_t bytes_of(const Datatype& type, MPI_Count count) {
  return type.size * static_cast<std::size_t>(count);
}

std::span<std::byte> memory_of(const TypedMessage& what, const Datatype& type) {
  return {first_of(what) + type.lower, bytes_of(type, what.count)};
}

comm::Layout layout_of(const TypedMessage& what, const Datatype& type) {
  if (type.is_contiguous) {  // with gaps or overlaps between elements
    auto element =
        std::make_shared<const comm::LayoutPattern>(std::vector<comm::LayoutPattern::Block>{{type.lower, type.size}});
    return comm::Layout::repeated(
        std::move(element), first_of(what), type.extent, static_cast<std::size_t>(what.count));
  }
  return comm::Layout::repeated(type.pattern, first_of(what), type.extent, static_cast<std::size_t>(what.count));
}

comm::Address address_of(RoutedCommunicator& on, const TypedMessage& what) {
  return what.internal_tag != 0 ? comm::Address{on.rank_of_run(what.peer), Tag{what.internal_tag}, on.internal_id()}
                                : on.address(what.peer, what.tag);
}

bool needs_packing(const Datatype& type) {
  return !type.is_contiguous && type.pattern == nullptr;
}

}  // namespace

Bytes packed_bytes(const TypedMessage& what, const Datatype& type) {
  Bytes packed(bytes_of(type, what.count));
  if (packed.empty()) {
    return packed;
  }
  if (!needs_packing(type)) {
    layout_of(what, type).gather(0, packed);
    return packed;
  }
  int position = 0;
  PMPI_Pack(what.buffer,
            static_cast<int>(what.count),
            what.type,
            packed.data(),
            static_cast<int>(packed.size()),
            &position,
            MPI_COMM_SELF);
  return packed;
}

void MessageTransfer::send(EngineSession& session, RoutedCommunicator& on, const TypedMessage& what, SendMode mode) {
  is_receive_ = false;
  if (what.peer == MPI_PROC_NULL) {
    request_ = comm::Request{comm::Status{}};
    return;
  }
  const Datatype& type = *session.datatypes().find(what.type);
  const comm::Address to = address_of(on, what);
  comm::Endpoint& endpoint = session.endpoint();
  bytes_ = bytes_of(type, what.count);
  session.tally().count_message(bytes_);
  if (mode == SendMode::buffered) {
    SendBuffer& buffer = on.buffered.is_attached() ? on.buffered : session.buffered();
    request_ = buffer.send(endpoint, to, what, type);
    return;
  }
  const comm::SendOptions options{.is_synchronous = mode == SendMode::synchronous};
  if (type.is_contiguous_for(what.count)) [[likely]] {
    request_ = endpoint.send(to, std::span<const std::byte>{memory_of(what, type)}, options);
  } else if (needs_packing(type)) {
    packed().bytes = packed_bytes(what, type);
    request_ = endpoint.send(to, std::span<const std::byte>{packed_->bytes}, options);
  } else {
    request_ = endpoint.send(to, layout_of(what, type), options);
  }
}

void MessageTransfer::send_copy(EngineSession& session, RoutedCommunicator& on, const TypedMessage& what) {
  is_receive_ = false;
  if (what.peer == MPI_PROC_NULL) {
    request_ = comm::Request{comm::Status{}};
    return;
  }
  packed().bytes = packed_bytes(what, *session.datatypes().find(what.type));
  bytes_ = packed_->bytes.size();
  session.tally().count_message(bytes_);
  request_ = session.endpoint().send(address_of(on, what), std::span<const std::byte>{packed_->bytes});
}

template <class Post>
void MessageTransfer::post_receive(EngineSession& session, const TypedMessage& what, const Post& post) {
  is_receive_ = true;
  is_from_nowhere_ = false;
  is_cancelled_ = false;
  const Datatype& type = *session.datatypes().find(what.type);
  bytes_ = bytes_of(type, what.count);
  if (type.is_contiguous_for(what.count)) [[likely]] {
    request_ = post(memory_of(what, type));
  } else if (needs_packing(type)) {
    packed().bytes.resize(bytes_);
    packed_->unpack = what;
    PMPI_Type_dup(what.type, &packed_->unpack.type);  // the program may free its own
    packed_->has_to_unpack = true;
    request_ = post(std::span<std::byte>{packed_->bytes});
  } else {
    request_ = post(layout_of(what, type));
  }
}

void MessageTransfer::receive(EngineSession& session, RoutedCommunicator& on, const TypedMessage& what) {
  if (what.peer == MPI_PROC_NULL) {
    is_receive_ = true;
    is_from_nowhere_ = true;
    request_ = comm::Request{comm::Status{}};
    return;
  }
  const comm::Address from = address_of(on, what);
  post_receive(session, what, [&](auto memory) { return session.endpoint().receive(from, std::move(memory)); });
}

void MessageTransfer::receive(EngineSession& session,
                              RoutedCommunicator& /*on*/,
                              const TypedMessage& what,
                              comm::ClaimedMessage message) {
  post_receive(
      session, what, [&](auto memory) { return session.endpoint().receive(std::move(message), std::move(memory)); });
}

Outcome MessageTransfer::outcome(const RoutedCommunicator& on) {
  Outcome outcome{.is_cancelled = is_cancelled_};
  if (is_receive_ && is_from_nowhere_) {
    outcome.source = MPI_PROC_NULL;
  } else if (is_receive_ && !is_cancelled_) {
    const comm::Status& status = request_.result();
    outcome.error = status.error ? error_class_of(*status.error) : MPI_SUCCESS;
    if (status.source) {
      outcome.source = on.rank_here(status.source);
      outcome.tag = static_cast<int>(status.tag.value());
    }
    outcome.bytes = status.bytes;
    if (packed_ && packed_->has_to_unpack && !status.error && status.bytes > 0) {
      const TypedMessage& to = packed_->unpack;
      const Datatype& type = *use_session().datatypes().find(to.type);
      int position = 0;
      PMPI_Unpack(packed_->bytes.data(),
                  static_cast<int>(status.bytes),
                  &position,
                  to.buffer,
                  static_cast<int>(status.bytes / type.size),
                  to.type,
                  MPI_COMM_SELF);
    }
  } else if (!is_receive_) {
    const comm::Status& status = request_.result();
    outcome.error = status.error ? error_class_of(*status.error) : MPI_SUCCESS;
  }
  free_type();  // it is unpacked
  return outcome;
}

Outcome MessageTransfer::end(const RoutedCommunicator& on) {
  Outcome result = outcome(on);
  request_ = {};
  return result;
}

bool MessageTransfer::cancel() {
  is_cancelled_ = is_receive_ && !is_from_nowhere_ && request_.cancel();
  if (is_cancelled_) {
    request_ = comm::Request{comm::Status{}};  // complete
  }
  return is_cancelled_;
}

void MessageTransfer::free_type() noexcept {
  if (packed_ && std::exchange(packed_->has_to_unpack, false)) {
    PMPI_Type_free(&packed_->unpack.type);
  }
}

}  // namespace plait::accelerate
