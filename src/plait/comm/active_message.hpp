// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "plait/comm/endpoint.hpp"

namespace plait::comm {

/// A trivially copyable type with a handler id of its own.
template <class Message>
concept ActivePayload = std::is_trivially_copyable_v<Message> && requires {
  { Message::handler } -> std::convertible_to<HandlerId>;
};

/// Registers `handler(source, message)` for each `Message` that is posted to this rank. See `Endpoint::on`.
template <ActivePayload Message, class Callable>
void on(Endpoint& endpoint, Callable handler) {
  endpoint.on(Message::handler, [handler = std::move(handler)](const ActiveMessage& raw) {
    expect(raw.payload.size() == sizeof(Message), "both ends agree on the type of an active message");
    Message message;
    std::memcpy(&message, raw.payload.data(), sizeof message);
    handler(raw.source, message);
  });
}

/// Posts `message` to its handler on rank `to`. See `Endpoint::post`.
template <ActivePayload Message>
void post(Endpoint& endpoint, Rank to, const Message& message) {
  endpoint.post(to, Message::handler, std::as_bytes(std::span{&message, 1}));
}

}  // namespace plait::comm
