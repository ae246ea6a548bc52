// SPDX-License-Identifier: Apache-2.0
// Messages to elements: where they go, and what is done with those that come.
#include <algorithm>
#include <atomic>
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
  // To one that was made here in this phase, but is at home elsewhere, messages go by way of there all the time: what
  // was sent to it before has gone there too.
  if (at_home == self_ && fresh_count_.load(std::memory_order_acquire) > 0) {  // with create() and note_created()
    const std::lock_guard lock{news_lock_};
    if (const Route route = route_to_new(to); route.local != nullptr || route.rank) {
      return route;
    }
  }
  if (at_home == self_) {
    const auto place = away_.find(to.value());
    return {.rank = place == away_.end() ? Rank{} : place->second};
  }
  const auto place = places_.find(to.value());
  if (place == places_.end() || !is_trusted(place->second)) {
    return {.rank = at_home};
  }
  std::atomic_ref{place->second.used}.store(static_cast<std::uint32_t>(phase_), std::memory_order_relaxed);  // a hint
  return {.rank = place->second.rank};
}

/// Whether the element has moved once at most since its place was right: then that rank knows where it is, and passes
/// a message on to there. After two migrations it may know an old place only, and the home is asked.
bool CollectionEngine::is_trusted(Heard& place) const {
  return std::atomic_ref{place.used}.load(std::memory_order_relaxed) >= migrations_[1];  // a hint
}

/// With the lock held: to an element that was made in this phase.
Route CollectionEngine::route_to_new(ElementId to) {
  if (const auto place = fresh_.find(to.value()); place != fresh_.end()) {
    return {.local = place->second};
  }
  const auto place = registered_.find(to.value());
  return {.rank = place == registered_.end() ? Rank{} : place->second};
}

void CollectionEngine::note_sent(Element& from, ElementId to, std::size_t bytes) {
  // Most elements write to the same others in the same order, again and again.
  const std::size_t next = from.last_sent + 1 < from.sent.size() ? from.last_sent + 1 : 0;
  if (next < from.sent.size() && from.sent[next].peer == to) {
    from.sent[next].bytes += bytes;
    from.last_sent = next;
    return;
  }
  const auto known = std::ranges::find(from.sent, to, &PeerBytes::peer);
  from.last_sent = static_cast<std::size_t>(known - from.sent.begin());
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
            .step = mail.step,
            .origin = self_.value()};
  post_with_head(to, head, buffer);
  messages_sent_.fetch_add(1, std::memory_order_relaxed);  // statistics, both
  bytes_sent_.fetch_add(buffer.size() - sizeof head, std::memory_order_relaxed);
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

void CollectionEngine::deliver(const Route& route, ElementId to, Mail& mail, WorkerId worker) {
  if (route.local != nullptr) {
    put(*route.local, mail, worker);
    return;
  }
  if (route.rank) {  // sent from outside of turns, or before its element was known
    Bytes message(sizeof(Head));
    const PackedCall call = mail.kind->pack(mail, message);
    post_mail(route.rank, {.from = mail.from, .to = to, .step = mail.step, .call = call}, message);
    mail.kind->drop(&mail);
    return;
  }
  const std::lock_guard lock{news_lock_};
  unknown_.emplace_back(to, &mail);
  deliver_unknown(to, route_to_new(to), worker);  // it may have been made meanwhile
}

void CollectionEngine::put(Element& element, Mail& mail, WorkerId worker) {
  if (!element.mailbox.put(mail)) {
    return;  // who has it will see it
  }
  if (worker) {
    wake(element, workers_[worker.value()]);
  } else {
    wake_from_outside(element);
  }
}

/// With the lock held, so that later messages do not pass: what has come for an element before it was known.
void CollectionEngine::deliver_unknown(ElementId id, const Route& route, WorkerId worker) {
  if (route.local == nullptr && !route.rank) {
    return;
  }
  std::erase_if(unknown_, [&](const std::pair<ElementId, Mail*>& each) {
    if (each.first != id) {
      return false;
    }
    deliver(route, id, *each.second, worker);
    return true;
  });
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
  const nanoseconds start = recorder_.now();
  take_in_order(message);
  arriving_ns_.fetch_add((recorder_.now() - start).count(), std::memory_order_relaxed);  // a statistic
  look();
}

void CollectionEngine::take_in_order(const comm::ActiveMessage& message) {
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
      away_.insert_or_assign(head.to, Rank{head.origin});
      break;
    case MessageKind::created:
      note_created(ElementId{head.to}, Rank{head.origin});
      break;
    case MessageKind::known: {
      const std::lock_guard lock{news_lock_};
      known_.emplace_back(ElementId{head.to}, Rank{head.origin});
      break;
    }
    case MessageKind::erased:
      note_erased(ElementId{head.to});
      break;
  }
}

void CollectionEngine::handle_mail(const Head& head, std::span<const std::byte> rest) {
  const ElementId to{head.to};
  Route route = this->route(to);
  if (route.is_elsewhere() && fresh_count_.load(std::memory_order_acquire) > 0) {  // with create()
    const std::lock_guard lock{news_lock_};
    route.local = route_to_new(to).local;
  }
  if (route.is_elsewhere()) {
    if (head.hops > 0) {
      route.rank = home(to) == self_ ? route.rank : home(to);  // which knows: never round in circles
    }
    Head onwards = head;
    ++onwards.hops;
    forwarded_.fetch_add(1, std::memory_order_relaxed);  // a statistic, as is the next
    forwarded_again_.fetch_add(head.hops > 0 ? 1U : 0U, std::memory_order_relaxed);
    post(route.rank, onwards, rest);
    if (Rank{head.origin} != self_) {
      tell_place(Rank{head.origin}, to, route.rank);
    }
    return;
  }
  deliver(route, to, *new PackedMail{ElementId{head.from}, head.step, call_at(head.method), rest}, {});
}

void CollectionEngine::tell_place(Rank to, ElementId id, Rank where) {
  post(to, {.kind = MessageKind::known, .to = id.value(), .origin = where.value()}, {});
}

}  // namespace plait::data::detail
