// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "plait/comm/bins.hpp"
#include "plait/comm/envelope.hpp"

namespace plait::comm {

/// A receive that waits for its message. Owned by the caller; must stay until matched or cancelled.
struct PostedReceive {
  MessageEnvelope envelope;

  std::uint64_t order = 0;
  bool is_posted = false;
  BinLink<PostedReceive> link;
};

/// A message that has arrived before its receive. Owned by the caller; must stay until it is taken.
struct UnexpectedMessage {
  MessageEnvelope envelope;  ///< Neither source nor tag is a wildcard.

  bool is_listed_by_tag = false;
  std::array<BinLink<UnexpectedMessage>, 4> links;
};

namespace detail {

/// The part of an envelope that a class of receive compares; see `Matcher`. Borrows the envelope.
template <std::size_t which>
struct MatchingKey {
  static constexpr bool has_source = (which & 2U) == 0;
  static constexpr bool has_tag = (which & 1U) == 0;

  const MessageEnvelope& envelope;

  [[nodiscard]] std::size_t hash() const noexcept {
    // Two rounds of multiply and fold (as in wyhash): tags are often consecutive or equal in their low bits.
    const std::uint64_t tag = has_tag ? envelope.tag.value() : 0;
    const std::uint64_t peer =
        (std::uint64_t{envelope.comm.value()} << 32U) | (has_source ? envelope.source.value() : 0);
    return fold(fold(tag ^ 0x9e37'79b9'7f4a'7c15U, peer ^ 0xe703'7ed1'a0b4'28dbU) ^ tag, 0x8ebc'6af0'9c88'c6e3U);
  }
  template <class Node>
  [[nodiscard]] bool is_of(const Node& node) const noexcept {
    return (!has_tag || node.envelope.tag == envelope.tag) && node.envelope.comm == envelope.comm &&
           (!has_source || node.envelope.source == envelope.source);
  }
  template <class Receive>
    requires std::is_same_v<std::remove_const_t<Receive>, PostedReceive>
  [[nodiscard]] static auto& link(Receive& receive) noexcept {
    return receive.link;
  }
  template <class Message>
    requires std::is_same_v<std::remove_const_t<Message>, UnexpectedMessage>
  [[nodiscard]] static auto& link(Message& message) noexcept {
    return message.links[which];
  }

 private:
  [[nodiscard]] static std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  }
};

}  // namespace detail

/// Matches messages and receives in constant time.
///
/// There are four classes of receive: (source, tag), (source, any tag), (any source, tag), (any source, any tag). A
/// receive is in one bin, of its class and envelope. An unexpected message is in one bin of each class until it is
/// taken; bins of (any source, tag) are filled from the first such receive on, as few programs have any. A message
/// matches the receive that was posted first, a receive the message that arrived first.
///
/// Expects that messages of one (source, communicator) arrive in the order of sending. Threads: one at a time. Cost: at
/// most four hash look-ups for each operation.
class Matcher {
 public:
  Matcher() = default;
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// Takes the unexpected message that `receive` matches. Posts `receive` and returns null when there is none.
  [[nodiscard]] UnexpectedMessage* post(PostedReceive& receive);

  /// Takes the posted receive that matches this message; null when there is none.
  [[nodiscard]] PostedReceive* match(const MessageEnvelope& message);
  /// Adds an unexpected message, for which `match` has just returned null.
  void keep(UnexpectedMessage& message);

  /// Returns the unexpected message that a receive with this envelope would match, or null.
  [[nodiscard]] UnexpectedMessage* probe(const MessageEnvelope& receive);
  /// As `probe`, but takes the message.
  [[nodiscard]] UnexpectedMessage* claim(const MessageEnvelope& receive);

  /// Removes a receive. False when it is not posted.
  bool cancel(PostedReceive& receive);

  [[nodiscard]] std::size_t bin_count() const noexcept;

  /// Calls `visit` with each posted receive, in no order. `visit` may free it if the matcher is not used afterwards.
  template <class Visit>
  void for_each_posted(Visit&& visit) const;
  template <class Visit>
  void for_each_unexpected(Visit&& visit) const;

 private:
  void list_by_tag();
  void take(UnexpectedMessage& message);

  std::array<Bins<PostedReceive>, 4> posted_;
  std::array<Bins<UnexpectedMessage>, 4> unexpected_;
  bool lists_by_tag_ = false;  ///< Unexpected messages are listed for receives from any source with a tag.
  std::uint64_t next_order_ = 0;
};

template <class Visit>
void Matcher::for_each_posted(Visit&& visit) const {
  for (const auto& bins : posted_) {
    bins.template for_each<detail::MatchingKey<0>>(visit);  // all classes use one link
  }
}

template <class Visit>
void Matcher::for_each_unexpected(Visit&& visit) const {
  unexpected_.front().template for_each<detail::MatchingKey<0>>(visit);
}

}  // namespace plait::comm
