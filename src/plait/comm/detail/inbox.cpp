// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/inbox.hpp"

namespace plait::comm::detail {

Inbox::~Inbox() {
  matcher_.for_each_unexpected([](const UnexpectedMessage& message) {
    const auto* const full = static_cast<const Unexpected*>(&message);
    release(full->staging);  // the message's own count
    delete full;
  });
}

bool Inbox::keep(std::unique_ptr<Unexpected> message) {
  Peer& source = peers_[message->envelope.source.value()];
  source.bytes += message->memory_bytes;
  matcher_.keep(*message.release());  // owned again when it is taken out of the matcher
  return source.bytes > unexpected_bytes_max_ && !std::exchange(source.is_rendezvous_only, true);
}

bool Inbox::free_memory(const Unexpected& message) {
  Peer& source = peers_[message.envelope.source.value()];
  source.bytes -= message.memory_bytes;
  return source.bytes * 2 < unexpected_bytes_max_ && std::exchange(source.is_rendezvous_only, false);
}

}  // namespace plait::comm::detail
