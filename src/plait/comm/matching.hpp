// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "plait/comm/status.hpp"

namespace plait::comm {

/// The values by which messages and receives match. In a receive, source and tag may be wildcards.
struct MessageEnvelope {
  CommId comm = world;
  Rank source;
  Tag tag;

  friend bool operator==(const MessageEnvelope&, const MessageEnvelope&) = default;
};

namespace detail {

/// The links of an element in an intrusive doubly linked list.
template <class Node>
struct Link {
  Node* previous = nullptr;
  Node* next = nullptr;
};

}  // namespace detail

/// A receive that waits for its message. Owned by the caller; must stay until matched or cancelled.
struct PostedReceive {
  MessageEnvelope envelope;

  std::uint64_t order = 0;
  bool is_posted = false;
  detail::Link<PostedReceive> link;
};

/// A message that has arrived before its receive. Owned by the caller; must stay until it is taken.
struct UnexpectedMessage {
  MessageEnvelope envelope;  ///< Neither source nor tag is a wildcard.

  bool is_listed_by_tag = false;
  std::array<detail::Link<UnexpectedMessage>, 4> links;
};

namespace detail {

/// First and last element of a list linked through `Node`s.
template <class Node>
struct Ends {
  Node* first = nullptr;
  Node* last = nullptr;
};

/// All that is outstanding for one key of one class.
struct Bin {
  Ends<PostedReceive> posted;
  Ends<UnexpectedMessage> unexpected;

  [[nodiscard]] bool is_empty() const { return posted.first == nullptr && unexpected.first == nullptr; }
};

}  // namespace detail

/// Matches messages and receives in constant time.
///
/// There are four classes of receive: (source, tag), (source, any tag), (any source, tag), (any source, any tag). A
/// receive is in one bin, of its class and envelope. An unexpected message is in one bin of each class until it is
/// taken; bins of (any source, tag) are filled from the first such receive on, as few programs have any. A message
/// matches the receive that was posted first, a receive the message that arrived first. Bins are stored in hash tables,
/// for few cache misses; empty ones are erased.
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
  struct KeyHash {
    std::size_t operator()(const MessageEnvelope& key) const noexcept;
  };
  using Table = boost::unordered_flat_map<MessageEnvelope, detail::Bin, KeyHash>;

  void link(std::size_t which, UnexpectedMessage& message);
  void list_by_tag();
  void take(UnexpectedMessage& message);
  void take(std::size_t which, Table::iterator bin, PostedReceive& receive);

  std::array<Table, 4> tables_;
  std::array<std::size_t, 4> posted_in_class_{};
  bool lists_by_tag_ = false;  ///< Unexpected messages are listed for receives from any source with a tag.
  std::uint64_t next_order_ = 0;
  std::size_t unexpected_count_ = 0;
};

template <class Visit>
void Matcher::for_each_posted(Visit&& visit) const {
  const auto visit_all_of = [&](const PostedReceive* receive) {
    while (receive != nullptr) {
      visit(*std::exchange(receive, receive->link.next));
    }
  };
  for (const Table& table : tables_) {
    for (const auto& [key, bin] : table) {
      visit_all_of(bin.posted.first);
    }
  }
}

template <class Visit>
void Matcher::for_each_unexpected(Visit&& visit) const {
  for (const auto& [key, bin] : tables_[0]) {
    for (const UnexpectedMessage* message = bin.unexpected.first; message != nullptr;) {
      visit(*std::exchange(message, message->links[0].next));
    }
  }
}

}  // namespace plait::comm
