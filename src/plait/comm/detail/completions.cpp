// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/completions.hpp"

#include <exception>

namespace plait::comm::detail {

bool Completions::accept(Operation& operation, const wire::Header& header) {
  operation.tag = Tag{header.tag};
  operation.sequence = header.sequence;
  operation.priority = header.priority;
  operation.bytes = header.bytes;
  operation.is_rendezvous = wire::is_rts(header.kind);
  if (operation.resizable != nullptr) {
    try {
      operation.resizable->resize(header.bytes);
    } catch (const std::exception&) {  // bad_alloc or length_error
      complete(operation, header.bytes, ErrorCode::out_of_memory);
      return false;
    }
    operation.memory = *operation.resizable;
  }
  if (header.bytes > operation.room()) {
    complete(operation, header.bytes, ErrorCode::truncated);
    return false;
  }
  return true;
}

void Completions::complete(Operation& operation, std::size_t bytes, std::optional<ErrorCode> error) {
  const bool is_send = operation.direction == net::TransferDirection::sent;
  // One by one: a whole status would be put together elsewhere first, and read before it is written there.
  Status& status = operation.status;
  status.source = is_send ? self_ : operation.source;
  status.tag = operation.tag;
  status.bytes = bytes;
  status.sequence = operation.sequence;
  status.error = error;
  outstanding_ -= 1;
  internal_ -= operation.is_internal ? 1 : 0;
  activity_.note_outstanding(outstanding_, internal_);
  operation.is_over = true;
  operation.is_released_at_completion = operation.forwards_left == 0;
  if (trace_.is_on() && MessageTrace::is_message(operation)) {
    trace_.completed(operation);
  }
  if (operation.is_active_message && !is_send && !error) {
    actives_.push_back(
        {HandlerId{static_cast<std::uint32_t>(operation.tag.value())}, operation.source, std::move(*operation.owned)});
  }
  append(completed_, operation, &Operation::next_completed);
  if (is_send && operation.forwarding && operation.forwarding->source != nullptr) {
    end_forward(*operation.forwarding->source, operation);
  }
}

/// `forward` does not need the data of `source` any more.
void Completions::end_forward(Operation& source, Operation& forward) {
  std::erase(source.forwarding->forwards, &forward);
  if (--source.forwards_left > 0) {
    return;
  }
  if (source.direction == net::TransferDirection::sent) {
    complete(source, source.bytes);  // the program's own multicast
  } else if (source.is_over) {
    append(released_, source, &Operation::next_released);
  }
}

}  // namespace plait::comm::detail
