// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/engine/mailroom.hpp"

#include <algorithm>
#include <bit>

#include "plait/data/collections/detail/element_calls.hpp"
#include "plait/data/collections/element_context.hpp"
#include "plait/trace/remote_task.hpp"

namespace plait::data::detail {

namespace {

static_assert(Mailroom::head_bytes == sizeof(Head));

std::int64_t distance_of(PackedCall call) {
  return static_cast<std::int64_t>(std::bit_cast<std::uintptr_t>(call) -
                                   std::bit_cast<std::uintptr_t>(&origin_of_methods));
}

PackedCall call_at(std::int64_t distance) {
  return std::bit_cast<PackedCall>(std::bit_cast<std::uintptr_t>(&origin_of_methods) +
                                   static_cast<std::uintptr_t>(distance));
}

/// A message from another rank.
struct PackedMail : Mail {
  PackedCall call;
  Bytes bytes;
};

constexpr MailKind packed_mail{.call =
                                   [](Mail& mail, void* object, ElementContext& context) {
                                     const auto& packed = static_cast<const PackedMail&>(mail);
                                     packed.call(packed.bytes, object, context);
                                   },
                               .drop = [](Mail* mail) noexcept { delete static_cast<PackedMail*>(mail); },
                               .pack = [](const Mail& mail, Bytes& to) -> PackedCall {
                                 const auto& packed = static_cast<const PackedMail&>(mail);
                                 to.insert(to.end(), packed.bytes.begin(), packed.bytes.end());
                                 return packed.call;
                               }};

Mail& new_packed(ElementId from, std::uint64_t step, PackedCall call, std::span<const std::byte> packed) {
  return *new PackedMail{{.kind = &packed_mail, .from = from, .step = step}, call, {packed.begin(), packed.end()}};
}

/// As tasks list it; 0: not recorded.
std::uint64_t sender_of(const Head& head) {
  return head.sent_by == 0 ? 0 : trace::remote_task(Rank{head.origin}, head.sent_by);
}

void erase_packed(std::span<const std::byte> /*packed*/, void* /*object*/, ElementContext& context) {
  context.erase();
}

}  // namespace

void origin_of_methods() {}

Mailroom::Mailroom(const EngineParts& parts)
    : parts_{parts}, info_{parts.info}, buffers_(parts.info.scheduler.worker_count()) {}

// ---- sending ----

Route Mailroom::route(ElementId to) {
  if (Element* const here = parts_.table.find(to)) {
    return {.local = here};
  }
  // Messages to an element that was created here in this phase, but has its home elsewhere, go by way of its home:
  // those that were sent before it was created have gone there too.
  if (parts_.places.home(to) == info_.self) {
    if (const Route route = parts_.news.route_to_created(to); route.local != nullptr || route.rank) {
      return route;
    }
  }
  return {.rank = parts_.places.next_stop(to)};
}

Bytes& Mailroom::buffer(WorkerId worker) {
  Bytes& buffer = buffers_[worker.value()].bytes;
  buffer.resize(head_bytes);
  return buffer;
}

void Mailroom::note_sent(Element& from, ElementId to, std::size_t bytes) {
  SentBytes& sent = from.sent;
  // Most elements send to the same others in the same order, again and again.
  const std::size_t next = sent.last + 1 < sent.to.size() ? sent.last + 1 : 0;
  if (next < sent.to.size() && sent.to[next].peer == to) {
    sent.to[next].bytes += bytes;
    sent.last = next;
    return;
  }
  const auto known = std::ranges::find(sent.to, to, &PeerBytes::peer);
  sent.last = static_cast<std::size_t>(known - sent.to.begin());
  if (known != sent.to.end()) {
    known->bytes += bytes;
  } else {
    sent.to.push_back({to, bytes});
  }
}

void Mailroom::post(Rank to, const Outgoing& mail, Bytes& buffer) {
  parts_.links.post_with_room(to,
                              {.kind = MessageKind::mail,
                               .to = mail.to.value(),
                               .from = mail.from.value(),
                               .method = distance_of(mail.call),
                               .step = mail.step,
                               .origin = info_.self.value(),
                               .sent_by = mail.worker ? parts_.calls.recorded_task(mail.worker) : 0},
                              buffer);
  traffic_.sent.fetch_add(1, std::memory_order_relaxed);  // statistics, as all of `traffic_`
  traffic_.bytes.fetch_add(buffer.size() - head_bytes, std::memory_order_relaxed);
}

void Mailroom::deliver(const Route& route, ElementId to, Mail& mail, WorkerId worker) {
  if (route.local != nullptr) {
    mail.sent_by = worker ? parts_.calls.recorded_task(worker) : mail.sent_by;
    if (route.local->mailbox.put(mail)) {  // else the worker that executes the element will see it
      parts_.calls.wake(*route.local, worker);
    }
    return;
  }
  if (route.rank) {  // sent outside of tasks, or before the place of its element was known
    Bytes message(head_bytes);
    const PackedCall call = mail.kind->pack(mail, message);
    post(route.rank, {.from = mail.from, .to = to, .step = mail.step, .call = call}, message);
    mail.kind->drop(&mail);
    return;
  }
  parts_.news.keep(
      to, mail, [this, worker](const Route& found, ElementId id, Mail& kept) { deliver(found, id, kept, worker); });
}

void Mailroom::create(ElementId id, Element& element, WorkerId worker) {
  parts_.calls.adopt_in_phase(id, element);
  parts_.news.created_here(
      element, [this, worker](const Route& found, ElementId to, Mail& kept) { deliver(found, to, kept, worker); });
  if (const Rank at_home = parts_.places.home(id); at_home != info_.self) {
    parts_.links.post(at_home, {.kind = MessageKind::created, .to = id.value(), .origin = info_.self.value()});
  }
}

void Mailroom::send_erase(ElementId id, const Element& sender, WorkerId worker) {
  if (const Route to = route(id); to.is_elsewhere()) {
    post(to.rank, {.from = sender.id, .to = id, .call = &erase_packed, .worker = worker}, buffer(worker));
  } else {
    deliver(to, id, new_packed(sender.id, no_step, &erase_packed, {}), worker);
  }
}

// ---- arrivals ----

void Mailroom::take(const Head& head, std::span<const std::byte> rest) {
  const ElementId to{head.to};
  Route route = this->route(to);
  if (route.is_elsewhere()) {
    route.local = parts_.news.route_to_created(to).local;
  }
  if (!route.is_elsewhere()) {
    Mail& mail = new_packed(ElementId{head.from}, head.step, call_at(head.method), rest);
    mail.sent_by = sender_of(head);
    deliver(route, to, mail, {});
    return;
  }
  if (const Rank at_home = parts_.places.home(to); head.hops > 0 && at_home != info_.self) {
    route.rank = at_home;  // which knows: a message never goes in circles
  }
  Head onwards = head;
  ++onwards.hops;
  traffic_.forwarded.fetch_add(1, std::memory_order_relaxed);
  traffic_.forwarded_again.fetch_add(head.hops > 0 ? 1U : 0U, std::memory_order_relaxed);
  parts_.links.post(route.rank, onwards, rest);
  if (const Rank origin{head.origin}; origin != info_.self) {
    parts_.links.post(origin, {.kind = MessageKind::known, .to = to.value(), .origin = route.rank.value()});
  }
}

void Mailroom::take_created(ElementId id, Rank at) {
  parts_.news.created_elsewhere(
      id, at, [this](const Route& found, ElementId to, Mail& kept) { deliver(found, to, kept, {}); });
}

void Mailroom::report(PhaseReport& report) noexcept {
  report.messages_sent = traffic_.sent.exchange(0, std::memory_order_relaxed);
  report.bytes_sent = traffic_.bytes.exchange(0, std::memory_order_relaxed);
  report.forwarded = traffic_.forwarded.exchange(0, std::memory_order_relaxed);
  report.forwarded_again = traffic_.forwarded_again.exchange(0, std::memory_order_relaxed);
}

}  // namespace plait::data::detail
