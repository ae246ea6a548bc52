// SPDX-License-Identifier: Apache-2.0
// Messages to elements: where they go, and what is done with those that come.
#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "plait/data/detail/call.hpp"
#include "plait/data/detail/collection_engine.hpp"

namespace plait::data::detail {

namespace {

std::int64_t distance_of(PackedCall call) {
  return static_cast<std::int64_t>(std::bit_cast<std::uintptr_t>(call) -
                                   std::bit_cast<std::uintptr_t>(&origin_of_methods));
}

PackedCall call_at(std::int64_t distance) {
  return std::bit_cast<PackedCall>(std::bit_cast<std::uintptr_t>(&origin_of_methods) +
                                   static_cast<std::uintptr_t>(distance));
}

}  // namespace

// ---- sending ----

Route CollectionEngine::route(ElementId to) {
  if (const auto place = table_.find(to.value()); place != table_.end()) {
    return {.local = place->second};
  }
  const Rank at_home = home(to);
  if (at_home == self_) {
    const auto place = away_.find(to.value());
    return {.rank = place == away_.end() ? Rank{} : place->second};
  }
  const auto place = places_.find(to.value());
  return {.rank = place == places_.end() ? at_home : place->second};
}

void CollectionEngine::note_sent(Element& from, ElementId to, std::size_t bytes) {
  const auto known = std::ranges::find(from.sent, to, &PeerBytes::peer);
  if (known != from.sent.end()) {
    known->bytes += bytes;
  } else {
    from.sent.push_back({to, bytes});
  }
}

void CollectionEngine::post_mail(Rank to, const Outgoing& mail, Bytes& buffer) {
  Head head{.kind = MessageKind::mail,
            .phase = phase_,
            .to = mail.to.value(),
            .from = mail.from.value(),
            .method = distance_of(mail.call),
            .origin = self_.value()};
  post_with_head(to, head, buffer);
}

void CollectionEngine::post_with_head(Rank to, const Head& head, Bytes& message) {
  Head numbered = head;
  numbered.number = next_out_[to.value()].fetch_add(1, std::memory_order_relaxed);  // a number; orders nothing
  std::memcpy(message.data(), &numbered, sizeof numbered);
  sent_.fetch_add(1, std::memory_order_release);  // before the task that sends ends; with counts()
  endpoint_.post(to, handler_, message);
}

void CollectionEngine::post(Rank to, Head head, std::span<const std::byte> rest) {
  Bytes message(sizeof head);
  message.insert(message.end(), rest.begin(), rest.end());
  head.phase = phase_;
  post_with_head(to, head, message);
}

void CollectionEngine::deliver(const Route& route, ElementId to, Mail& mail, Element* sender) {
  if (route.local != nullptr) {
    if (!route.local->mailbox.put(mail)) {
      return;  // who has it will see it
    }
    if (sender != nullptr) {
      route.local->next_woken = std::exchange(sender->first_woken, route.local);
    } else {
      wake_from_outside(*route.local);
    }
    return;
  }
  if (route.rank) {  // sent from outside of turns
    Bytes message(sizeof(Head));
    const PackedCall call = mail.kind->pack(mail, message);
    post_mail(route.rank, {.from = mail.from, .to = to, .call = call}, message);
    mail.kind->drop(&mail);
    return;
  }
  const std::lock_guard lock{news_lock_};
  unknown_.emplace_back(to, &mail);
}

void CollectionEngine::wake_from_outside(Element& element) {
  element.is_waking = true;
  run_->expect_end(element);
  run_->has_ended(element);
}

// ---- what comes ----

/// Puts messages into the order in which they were sent: one too long for a packet comes after shorter ones.
void CollectionEngine::arrive(const comm::ActiveMessage& message) {
  MessageKind kind{};
  std::memcpy(&kind, message.payload.data(), sizeof kind);
  if (kind == MessageKind::termination) {
    Termination::Note note;
    std::memcpy(&note, message.payload.data() + sizeof kind, sizeof note);
    termination_.take(message.source, note);
    look();
    return;
  }
  Head head;
  std::memcpy(&head, message.payload.data(), sizeof head);
  const std::uint32_t source = message.source.value();
  if (head.number != next_in_[source]) {
    ahead_.emplace(std::pair{source, head.number}, Bytes{message.payload.begin(), message.payload.end()});
    return;
  }
  accept(message.payload);
  ++next_in_[source];
  while (!ahead_.empty()) {
    const auto next = ahead_.find({source, next_in_[source]});
    if (next == ahead_.end()) {
      break;
    }
    accept(next->second);
    ahead_.erase(next);
    ++next_in_[source];
  }
  look();
}

void CollectionEngine::accept(std::span<const std::byte> message) {
  Head head;
  std::memcpy(&head, message.data(), sizeof head);
  {
    const std::lock_guard lock{early_lock_};
    if (head.phase != open_phase_) {
      early_.emplace_back(message.begin(), message.end());
      return;
    }
  }
  handle(head, message.subspan(sizeof head));
  handled_.fetch_add(1, std::memory_order_release);  // with counts()
}

void CollectionEngine::handle(const Head& head, std::span<const std::byte> rest) {
  switch (head.kind) {
    case MessageKind::termination:
      break;  // is not counted, and does not come here
    case MessageKind::mail:
      handle_mail(head, rest);
      break;
    case MessageKind::element:
      adopt(head, rest);
      break;
    case MessageKind::moved:
      note_home(ElementId{head.to}, Rank{head.origin});
      break;
    case MessageKind::known: {
      const std::lock_guard lock{news_lock_};
      known_.emplace_back(ElementId{head.to}, Rank{head.origin});
      break;
    }
    case MessageKind::erased:
      break;
  }
}

void CollectionEngine::handle_mail(const Head& head, std::span<const std::byte> rest) {
  const ElementId to{head.to};
  Route route = this->route(to);
  if (route.is_elsewhere()) {
    if (head.hops > 0) {
      route.rank = home(to) == self_ ? route.rank : home(to);  // which knows: never round in circles
    }
    Head onwards = head;
    ++onwards.hops;
    forwarded_.fetch_add(1, std::memory_order_relaxed);  // a statistic
    post(route.rank, onwards, rest);
    if (Rank{head.origin} != self_) {
      tell_place(Rank{head.origin}, to, route.rank);
    }
    return;
  }
  deliver(route, to, *new PackedMail{ElementId{head.from}, call_at(head.method), rest}, nullptr);
}

void CollectionEngine::tell_place(Rank to, ElementId id, Rank where) {
  post(to, {.kind = MessageKind::known, .to = id.value(), .origin = where.value()}, {});
}

}  // namespace plait::data::detail
