// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <utility>

#include "plait/base/bytes.hpp"
#include "plait/data/references/work.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data {

namespace detail {

/// Packs a value and sends it; `message` ends when it is sent.
template <class T>
struct SendValue {
  Job* message;
  comm::Address to;

  void operator()(const T& value) const;
};
/// Holds the bytes until they are sent.
struct OutgoingValue {
  Bytes bytes;
};

template <class T>
void SendValue<T>::operator()(const T& value) const {
  auto& outgoing = message->kernel.get<OutgoingValue>();
  outgoing.bytes = pack(value);
  message->engine.post_send(*message, to, outgoing.bytes);
}

template <class T>
struct ReceiveValue {
  Bytes bytes;
  T operator()() const { return unpack_as<T>(bytes); }
};

inline constexpr task::detail::KindName send_kind{.name = "send a value", .hash = 0};
inline constexpr task::detail::KindName receive_kind{.name = "receive a value", .hash = 0};

}  // namespace detail

/// Sends the value of `ref`, when it is computed, to rank `to`, which calls `receive_ref` with the same tag. Values of
/// one tag between two ranks arrive in order.
///
/// The value is packed as soon as it is computed, so that it may then be modified. Throws: `bad_argument` for an
/// invalid rank; as a call of `work`.
template <Serializable T, Permission now>
void send_ref(Work& work, Rank to, Tag tag, Ref<T, Permission::read, now>&& ref) {
  detail::WorkEngine& engine = work.engine();
  if (!to || to.value() >= work.rank_count()) {
    engine.fail(Error{ErrorCode::bad_argument, "a reference was sent to a rank that this run does not have"});
  }
  detail::Job& message = engine.take(detail::send_kind, 0);
  message.kernel.emplace(detail::OutgoingValue{});
  engine.expect_send(message);
  work(WorkKind{&detail::send_kind},
       detail::SendValue<T>{&message, {.rank = to, .tag = tag, .comm = engine.comm()}},
       std::move(ref));
}

/// Returns a reference to the value that rank `from` sends with `tag`, at once. Throws: as a call of `work`. If the
/// message is no packed `T`, the run ends with an error.
template <Serializable T>
  requires std::default_initializable<T>
[[nodiscard]] Ref<T> receive_ref(Work& work, Rank from, Tag tag) {
  return detail::run_receive<T>(work.engine(),
                                detail::receive_kind,
                                {.rank = from, .tag = tag, .comm = work.engine().comm()},
                                detail::ReceiveValue<T>{});
}

}  // namespace plait::data
