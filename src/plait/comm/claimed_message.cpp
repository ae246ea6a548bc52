// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/claimed_message.hpp"

#include <utility>

#include "plait/comm/detail/core.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::comm {

ClaimedMessage::ClaimedMessage(Endpoint& endpoint, std::unique_ptr<detail::Unexpected> message, const Status& status)
    : endpoint_{&endpoint}, message_{std::move(message)}, status_{status} {}

ClaimedMessage::ClaimedMessage(ClaimedMessage&& other) noexcept = default;

ClaimedMessage& ClaimedMessage::operator=(ClaimedMessage&& other) noexcept {
  std::swap(endpoint_, other.endpoint_);
  std::swap(message_, other.message_);
  std::swap(status_, other.status_);
  return *this;
}

ClaimedMessage::~ClaimedMessage() {
  if (message_) {
    endpoint_->core_->act([&](detail::Engine& engine) { engine.delivery().drop(std::move(message_)); });
  }
}

}  // namespace plait::comm
