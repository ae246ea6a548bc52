// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "plait/comm/status.hpp"

namespace plait::comm {

/// What a message and a receive are matched by. In a receive, source and tag may be wildcards.
struct Envelope {
  CommId comm = world;
  Rank source;
  Tag tag;

  friend bool operator==(const Envelope&, const Envelope&) = default;
};

namespace detail {

/// The links of an element in a doubly linked list, which has no memory of its own.
template <class Node>
struct Link {
  Node* previous = nullptr;
  Node* next = nullptr;
};

}  // namespace detail

/// A receive that waits for its message. Owned by the caller; must stay until matched or cancelled.
struct PostedReceive {
  Envelope envelope;

  std::uint64_t order = 0;
  bool is_posted = false;
  detail::Link<PostedReceive> link;
};

/// A message that has arrived before its receive. Owned by the caller; must stay until taken.
struct UnexpectedMessage {
  Envelope envelope;  ///< Neither source nor tag is a wildcard.

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

/// Matches messages and receives, in constant time whatever is outstanding.
///
/// There are four classes of receive: (source, tag), (source, any tag), (any source, tag), any of both. A
/// receive is in the one bin of its class and envelope; an unexpected message is linked into one bin of each
/// class and unlinked from all four when it is taken (into that of any source and one tag only from the first such
/// receive on: few programs have any). Of several receives that fit a message, the one posted first gets
/// it; of several messages that fit a receive, the one that arrived first. Bins are stored in their table, so that a
/// message costs few cache misses; empty ones are freed at once.
///
/// Expects that messages of one (source, communicator) arrive in the order in which they were sent.
/// Threads: one at a time. Cost: at most four hash look-ups an operation; O(1) in what is outstanding.
class Matcher {
 public:
  Matcher() = default;
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// The unexpected message that `receive` gets, taken out; or null, and then `receive` is posted.
  [[nodiscard]] UnexpectedMessage* post(PostedReceive& receive);

  /// The posted receive that gets this message, taken out; or null.
  [[nodiscard]] PostedReceive* match(const Envelope& message);
  /// Keeps a message for which `match` has just returned null.
  void keep(UnexpectedMessage& message);

  /// The unexpected message that a receive with this envelope would get, left in place; or null.
  [[nodiscard]] UnexpectedMessage* probe(const Envelope& receive);
  /// As `probe`, but taken out: no other receive can get it.
  [[nodiscard]] UnexpectedMessage* claim(const Envelope& receive);

  /// Takes a receive out. False when it is not posted (any more).
  bool cancel(PostedReceive& receive);

  [[nodiscard]] std::size_t bin_count() const noexcept;

  /// Calls `visit` with each outstanding receive, then returns; in no order. `visit` may free it, if the matcher is
  /// not used any more.
  template <class Visit>
  void for_each_posted(Visit&& visit) const;
  template <class Visit>
  void for_each_unexpected(Visit&& visit) const;

 private:
  struct KeyHash {
    std::size_t operator()(const Envelope& key) const noexcept;
  };
  using Table = boost::unordered_flat_map<Envelope, detail::Bin, KeyHash>;

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
