// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/matching.hpp"

#include "plait/base/error.hpp"

namespace plait::comm {

namespace {

using detail::Bin;
using detail::Ends;

constexpr std::size_t class_count = 4;
constexpr std::size_t by_tag = 2;  ///< The class of receives from any source with one tag.
/// A program with many messages outstanding takes and frees bins all the time: the allocator would take longer than all
/// the rest. Their memory, not their places in the tables, is kept: 2 MiB at most.
constexpr std::size_t unused_bins_max = 16384;

std::size_t class_of(const Envelope& receive) noexcept {
  return (receive.tag == any_tag ? 1U : 0U) + (receive.source == any_source ? 2U : 0U);
}

/// The key under which a message or receive stands in class `which`.
Envelope key_of(std::size_t which, const Envelope& envelope) noexcept {
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

constexpr auto bin_link = [](Bin& bin) -> auto& { return bin.link; };

constexpr auto posted_link = [](PostedReceive& receive) -> auto& { return receive.link; };

auto unexpected_link(std::size_t which) {
  return [which](UnexpectedMessage& message) -> auto& { return message.links[which]; };
}

}  // namespace

std::size_t Matcher::KeyHash::operator()(const Envelope& key) const noexcept {
  // Two rounds of multiply and fold (as in wyhash): tags are often consecutive or equal in their low bits.
  const std::uint64_t peer = (std::uint64_t{key.comm.value()} << 32U) | key.source.value();
  __extension__ using Wide = unsigned __int128;
  const Wide first = Wide{key.tag.value() ^ 0x9e37'79b9'7f4a'7c15U} * (peer ^ 0xe703'7ed1'a0b4'28dbU);
  const std::uint64_t folded = static_cast<std::uint64_t>(first) ^ static_cast<std::uint64_t>(first >> 64U);
  const Wide second = Wide{folded ^ key.tag.value()} * 0x8ebc'6af0'9c88'c6e3U;
  return static_cast<std::uint64_t>(second) ^ static_cast<std::uint64_t>(second >> 64U);
}

Matcher::Matcher() = default;

Matcher::~Matcher() {
  for (Table& table : tables_) {
    for (auto& [key, bin] : table) {
      delete bin;
    }
  }
  for (Bin* const bin : unused_) {
    delete bin;
  }
}

std::size_t Matcher::bin_count() const noexcept {
  std::size_t count = 0;
  for (const Table& table : tables_) {
    count += table.size();
  }
  return count;
}

Bin* Matcher::find(std::size_t which, const Envelope& message) const {
  const auto found = tables_[which].find(key_of(which, message));
  return found == tables_[which].end() ? nullptr : found->second;
}

Bin& Matcher::find_or_make(std::size_t which, const Envelope& key) {
  const auto [entry, is_new] = tables_[which].try_emplace(key, nullptr);
  if (is_new) {
    if (unused_.empty()) {
      entry->second = new Bin{.which = which, .key = key};
    } else {
      entry->second = unused_.back();
      unused_.pop_back();
      *entry->second = Bin{.which = which, .key = key};
    }
  }
  Bin& bin = *entry->second;
  if (std::exchange(bin.is_retired, false)) {
    unlink(empty_, bin, bin_link);
    --empty_count_;
  }
  return bin;
}

void Matcher::retire_if_empty(Bin& bin) {
  if (!bin.is_empty()) {
    return;
  }
  bin.is_retired = true;
  append(empty_, bin, bin_link);
  if (++empty_count_ > empty_bins_max) {
    Bin* const oldest = empty_.first;
    unlink(empty_, *oldest, bin_link);
    --empty_count_;
    tables_[oldest->which].erase(oldest->key);
    if (unused_.size() < unused_bins_max) {
      unused_.push_back(oldest);
    } else {
      delete oldest;
    }
  }
}

void Matcher::take(UnexpectedMessage& message) {
  for (std::size_t which = 0; which < class_count; ++which) {
    if (message.bins[which] == nullptr) {
      continue;
    }
    Bin& bin = *message.bins[which];
    unlink(bin.unexpected, message, unexpected_link(which));
    retire_if_empty(bin);
  }
  message.bins = {};
  --unexpected_count_;
}

void Matcher::take(PostedReceive& receive) {
  Bin& bin = *receive.bin;
  unlink(bin.posted, receive, posted_link);
  receive.bin = nullptr;
  --posted_in_class_[bin.which];
  --posted_count_;
  retire_if_empty(bin);
}

UnexpectedMessage* Matcher::post(PostedReceive& receive) {
  expect(receive.bin == nullptr, "a receive is posted once");
  if (UnexpectedMessage* const message = claim(receive.envelope)) {
    return message;
  }
  const std::size_t which = class_of(receive.envelope);
  Bin& bin = find_or_make(which, key_of(which, receive.envelope));
  receive.order = next_order_++;
  receive.bin = &bin;
  append(bin.posted, receive, posted_link);
  ++posted_in_class_[which];
  ++posted_count_;
  return nullptr;
}

PostedReceive* Matcher::match(const Envelope& message) {
  expect(message.source && message.tag, "a message has a source and a tag");
  PostedReceive* best = nullptr;
  for (std::size_t which = 0; which < class_count; ++which) {
    if (posted_in_class_[which] == 0) {
      continue;
    }
    const Bin* const bin = find(which, message);
    if (bin == nullptr || bin->posted.first == nullptr) {
      continue;
    }
    if (best == nullptr || bin->posted.first->order < best->order) {
      best = bin->posted.first;
    }
  }
  if (best != nullptr) {
    take(*best);
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
  Bin& bin = find_or_make(which, key_of(which, message.envelope));
  message.bins[which] = &bin;
  append(bin.unexpected, message, unexpected_link(which));
}

/// Begins to list unexpected messages by tag: those that are there, in the order in which they came.
void Matcher::list_by_tag() {
  lists_by_tag_ = true;
  for (const auto& [key, bin] : tables_[class_count - 1]) {
    for (UnexpectedMessage* message = bin->unexpected.first; message != nullptr;
         message = message->links[class_count - 1].next) {
      link(by_tag, *message);
    }
  }
}

PostedReceive* Matcher::arrive(UnexpectedMessage& message) {
  PostedReceive* const receive = match(message.envelope);
  if (receive == nullptr) {
    keep(message);
  }
  return receive;
}

UnexpectedMessage* Matcher::probe(const Envelope& receive) {
  if (unexpected_count_ == 0) {
    return nullptr;
  }
  if (class_of(receive) == by_tag && !lists_by_tag_) {
    list_by_tag();
  }
  const Bin* const bin = find(class_of(receive), receive);
  return bin == nullptr ? nullptr : bin->unexpected.first;
}

UnexpectedMessage* Matcher::claim(const Envelope& receive) {
  UnexpectedMessage* const message = probe(receive);
  if (message != nullptr) {
    take(*message);
  }
  return message;
}

bool Matcher::cancel(PostedReceive& receive) {
  if (receive.bin == nullptr) {
    return false;
  }
  take(receive);
  return true;
}

}  // namespace plait::comm
