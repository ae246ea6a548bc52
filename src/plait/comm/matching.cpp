// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/matching.hpp"

#include "plait/base/error.hpp"

namespace plait::comm {

namespace {

using detail::Ends;

constexpr std::size_t class_count = 4;
constexpr std::size_t by_tag = 2;  ///< The class of receives from any source with one tag.

std::size_t class_of(const MessageEnvelope& receive) noexcept {
  return (receive.tag == any_tag ? 1U : 0U) + (receive.source == any_source ? 2U : 0U);
}

/// The key of a message or receive in class `which`.
MessageEnvelope key_of(std::size_t which, const MessageEnvelope& envelope) noexcept {
  return {envelope.comm, (which & 2U) != 0 ? any_source : envelope.source, (which & 1U) != 0 ? any_tag : envelope.tag};
}

/// `select(node)` is the link of `node` that belongs to the list.
template <class Node, class Select>
void append(Ends<Node>& list, Node& node, Select select) {
  select(node) = {list.last, nullptr};
  if (list.last != nullptr) {
    select(*list.last).next = &node;
  } else {
    list.first = &node;
  }
  list.last = &node;
}

template <class Node, class Select>
void unlink(Ends<Node>& list, Node& node, Select select) {
  const auto [previous, next] = select(node);
  (previous != nullptr ? select(*previous).next : list.first) = next;
  (next != nullptr ? select(*next).previous : list.last) = previous;
  select(node) = {};
}

constexpr auto posted_link = [](PostedReceive& receive) -> auto& { return receive.link; };

auto unexpected_link(std::size_t which) {
  return [which](UnexpectedMessage& message) -> auto& { return message.links[which]; };
}

}  // namespace

std::size_t Matcher::KeyHash::operator()(const MessageEnvelope& key) const noexcept {
  // Two rounds of multiply and fold (as in wyhash): tags are often consecutive or equal in their low bits.
  const std::uint64_t peer = (std::uint64_t{key.comm.value()} << 32U) | key.source.value();
  __extension__ using Wide = unsigned __int128;
  const Wide first = Wide{key.tag.value() ^ 0x9e37'79b9'7f4a'7c15U} * (peer ^ 0xe703'7ed1'a0b4'28dbU);
  const std::uint64_t folded = static_cast<std::uint64_t>(first) ^ static_cast<std::uint64_t>(first >> 64U);
  const Wide second = Wide{folded ^ key.tag.value()} * 0x8ebc'6af0'9c88'c6e3U;
  return static_cast<std::uint64_t>(second) ^ static_cast<std::uint64_t>(second >> 64U);
}

std::size_t Matcher::bin_count() const noexcept {
  std::size_t count = 0;
  for (const Table& table : tables_) {
    count += table.size();
  }
  return count;
}

void Matcher::take(UnexpectedMessage& message) {
  for (std::size_t which = 0; which < class_count; ++which) {
    if (which == by_tag && !message.is_listed_by_tag) {
      continue;
    }
    Table& table = tables_[which];
    const auto bin = table.find(key_of(which, message.envelope));
    unlink(bin->second.unexpected, message, unexpected_link(which));
    if (bin->second.is_empty()) {
      table.erase(bin);
    }
  }
  message.is_listed_by_tag = false;
  --unexpected_count_;
}

void Matcher::take(std::size_t which, Table::iterator bin, PostedReceive& receive) {
  unlink(bin->second.posted, receive, posted_link);
  receive.is_posted = false;
  --posted_in_class_[which];
  if (bin->second.is_empty()) {
    tables_[which].erase(bin);
  }
}

UnexpectedMessage* Matcher::post(PostedReceive& receive) {
  expect(!receive.is_posted, "a receive is posted once");
  if (UnexpectedMessage* const message = claim(receive.envelope)) {
    return message;
  }
  const std::size_t which = class_of(receive.envelope);
  receive.order = next_order_++;
  receive.is_posted = true;
  append(tables_[which][key_of(which, receive.envelope)].posted, receive, posted_link);
  ++posted_in_class_[which];
  return nullptr;
}

PostedReceive* Matcher::match(const MessageEnvelope& message) {
  expect(message.source && message.tag, "a message has a source and a tag");
  PostedReceive* best = nullptr;
  std::size_t best_class = 0;
  Table::iterator best_bin;
  for (std::size_t which = 0; which < class_count; ++which) {
    if (posted_in_class_[which] == 0) {
      continue;
    }
    const auto bin = tables_[which].find(key_of(which, message));
    if (bin == tables_[which].end() || bin->second.posted.first == nullptr) {
      continue;
    }
    if (best == nullptr || bin->second.posted.first->order < best->order) {
      best = bin->second.posted.first;
      best_class = which;
      best_bin = bin;
    }
  }
  if (best != nullptr) {
    take(best_class, best_bin, *best);
  }
  return best;
}

void Matcher::keep(UnexpectedMessage& message) {
  for (std::size_t which = 0; which < class_count; ++which) {
    if (which != by_tag || lists_by_tag_) {
      link(which, message);
    }
  }
  ++unexpected_count_;
}

void Matcher::link(std::size_t which, UnexpectedMessage& message) {
  message.is_listed_by_tag = message.is_listed_by_tag || which == by_tag;
  append(tables_[which][key_of(which, message.envelope)].unexpected, message, unexpected_link(which));
}

/// Starts to list unexpected messages by tag: those that are kept, in the order in which they arrived.
void Matcher::list_by_tag() {
  lists_by_tag_ = true;
  for (const auto& [key, bin] : tables_[class_count - 1]) {
    for (UnexpectedMessage* message = bin.unexpected.first; message != nullptr;
         message = message->links[class_count - 1].next) {
      link(by_tag, *message);
    }
  }
}

UnexpectedMessage* Matcher::probe(const MessageEnvelope& receive) {
  if (unexpected_count_ == 0) {
    return nullptr;
  }
  const std::size_t which = class_of(receive);
  if (which == by_tag && !lists_by_tag_) {
    list_by_tag();
  }
  const auto bin = tables_[which].find(key_of(which, receive));
  return bin == tables_[which].end() ? nullptr : bin->second.unexpected.first;
}

UnexpectedMessage* Matcher::claim(const MessageEnvelope& receive) {
  UnexpectedMessage* const message = probe(receive);
  if (message != nullptr) {
    take(*message);
  }
  return message;
}

bool Matcher::cancel(PostedReceive& receive) {
  if (!receive.is_posted) {
    return false;
  }
  const std::size_t which = class_of(receive.envelope);
  take(which, tables_[which].find(key_of(which, receive.envelope)), receive);
  return true;
}

}  // namespace plait::comm
