// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/matching.hpp"

#include "plait/base/error.hpp"

namespace plait::comm {

namespace {

using detail::MatchingKey;

constexpr std::size_t by_tag = 2;  ///< The class of receives from any source with one tag.
constexpr std::size_t any = 3;     ///< The class of receives of any message of a communicator.

std::size_t class_of(const MessageEnvelope& receive) noexcept {
  return (receive.tag == any_tag ? 1U : 0U) + (receive.source == any_source ? 2U : 0U);
}

/// Calls `call(key)` with the key of `envelope` in class `which`.
template <class Call>
auto with_key(std::size_t which, const MessageEnvelope& envelope, Call call) {
  switch (which) {
    case 0:
      return call(MatchingKey<0>{envelope});
    case 1:
      return call(MatchingKey<1>{envelope});
    case 2:
      return call(MatchingKey<2>{envelope});
    default:
      return call(MatchingKey<3>{envelope});
  }
}

/// Calls `call.operator()<which>()` for each class.
template <class Call>
void for_each_class(Call call) {
  call.template operator()<0>();
  call.template operator()<1>();
  call.template operator()<2>();
  call.template operator()<3>();
}

}  // namespace

std::size_t Matcher::bin_count() const noexcept {
  std::size_t count = 0;
  for (const auto& bins : posted_) {
    count += bins.bin_count();
  }
  for (const auto& bins : unexpected_) {
    count += bins.bin_count();
  }
  return count;
}

void Matcher::take(UnexpectedMessage& message) {
  for_each_class([&]<std::size_t which>() {
    if (which != by_tag || message.is_listed_by_tag) {
      const MatchingKey<which> key{message.envelope};
      unexpected_[which].remove(key, unexpected_[which].find(key), message);
    }
  });
  message.is_listed_by_tag = false;
}

UnexpectedMessage* Matcher::post(PostedReceive& receive) {
  expect(!receive.is_posted, "a receive is posted once");
  if (UnexpectedMessage* const message = claim(receive.envelope)) {
    return message;
  }
  receive.order = next_order_++;
  receive.is_posted = true;
  const std::size_t which = class_of(receive.envelope);
  with_key(which, receive.envelope, [&](const auto& key) { posted_[which].add(key, receive); });
  return nullptr;
}

PostedReceive* Matcher::match(const MessageEnvelope& message) {
  expect(message.source && message.tag, "a message has a source and a tag");
  PostedReceive* best = nullptr;
  Bins<PostedReceive>* best_bins = nullptr;
  Bins<PostedReceive>::Place best_place = nullptr;
  for_each_class([&]<std::size_t which>() {
    Bins<PostedReceive>& bins = posted_[which];
    if (bins.is_empty()) {
      return;
    }
    const auto place = bins.find(MatchingKey<which>{message});
    if (*place != nullptr && (best == nullptr || (*place)->order < best->order)) {
      best = *place;
      best_bins = &bins;
      best_place = place;
    }
  });
  if (best != nullptr) {
    best_bins->remove(MatchingKey<0>{message}, best_place, *best);  // all classes use one link
    best->is_posted = false;
  }
  return best;
}

void Matcher::keep(UnexpectedMessage& message) {
  message.is_listed_by_tag = lists_by_tag_;
  for_each_class([&]<std::size_t which>() {
    if (which != by_tag || lists_by_tag_) {
      unexpected_[which].add(MatchingKey<which>{message.envelope}, message);
    }
  });
}

/// Starts to list unexpected messages by tag: those that are kept, in the order in which they arrived.
void Matcher::list_by_tag() {
  lists_by_tag_ = true;
  unexpected_[any].for_each<MatchingKey<any>>([this](const UnexpectedMessage& kept) {
    auto& message = const_cast<UnexpectedMessage&>(kept);
    message.is_listed_by_tag = true;
    unexpected_[by_tag].add(MatchingKey<by_tag>{message.envelope}, message);
  });
}

UnexpectedMessage* Matcher::probe(const MessageEnvelope& receive) {
  if (unexpected_.front().is_empty()) {
    return nullptr;
  }
  const std::size_t which = class_of(receive);
  if (which == by_tag && !lists_by_tag_) {
    list_by_tag();
  }
  return *with_key(which, receive, [&](const auto& key) { return unexpected_[which].find(key); });
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
  with_key(
      which, receive.envelope, [&](const auto& key) { posted_[which].remove(key, posted_[which].find(key), receive); });
  receive.is_posted = false;
  return true;
}

}  // namespace plait::comm
