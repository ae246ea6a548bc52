// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/engine/collection_engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/comm/collectives/reduce.hpp"
#include "plait/data/collections/detail/element_calls.hpp"
#include "plait/data/collections/engine/all_ranks.hpp"
#include "plait/data/collections/engine/mailroom.hpp"

namespace plait::data::detail {

namespace {

Mapping mapping_or_default(const CollectionOptions& options, const Shape& shape, std::uint32_t rank_count) {
  return options.mapping ? options.mapping : shape.is_regular() ? block(shape, rank_count) : scattered(rank_count);
}

}  // namespace

struct CollectionEngine::Members {
  Members(const CollectionInfo& its_info, const CollectionOptions& options);
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members();

  void throw_if_programs_differ() const;
  void arrive(const comm::ActiveMessage& message);
  void take(const Head& head, std::span<const std::byte> rest);
  void take_created(ElementId id, Rank at);
  void note_home(ElementId id, MessageKind what);
  void insert(ElementId id, Element& element);
  // A migration is a phase without tasks, which ends when every element has arrived.
  void begin_migration();
  void end_migration();
  void check(std::span<const Move> moves);
  void send_element(const Move& move, MigrationReport& report);
  MigrationReport migrate(std::span<const Move> moves);
  void replace(std::span<const std::pair<ElementId, Element*>> elements);

  const CollectionInfo info;
  comm::HandlerId handler = info.endpoint.claim_handler();
  comm::Group group{info.endpoint};
  ElementTable table{info};
  Places places;
  News news{info, table, places};
  Links links{info.endpoint, handler, [this](const Head& head, auto rest) { take(head, rest); }};
  PhaseControl phase{info, handler, links, news};
  const EngineParts parts{info, table, places, news, links, phase, mail, calls};
  Mailroom mail{parts};
  ElementCalls calls{parts};

  std::vector<std::pair<Rank, Head>> later_notes;       ///< To homes, with the next phase or migration.
  std::vector<std::pair<ElementId, Mail*>> later_mail;  ///< With the next phase.
  std::atomic<std::int64_t> arriving_ns = 0;            ///< In arrivals, since the last reset.
};

CollectionEngine::Members::Members(const CollectionInfo& its_info, const CollectionOptions& options)
    : info{its_info}, places{info, table, mapping_or_default(options, info.shape, info.rank_count)} {
  info.endpoint.on(handler, [this](const comm::ActiveMessage& message) { arrive(message); });
  try {
    throw_if_programs_differ();  // when all have come here, messages may come
  } catch (...) {
    info.endpoint.off(handler);
    throw;
  }
}

CollectionEngine::Members::~Members() {
  phase.end();
  info.endpoint.off(handler);
  for (const auto& [to, one] : later_mail) {
    one->kind->drop(one);
  }
}

/// Methods travel as distances in the code, which must be the same on all ranks.
void CollectionEngine::Members::throw_if_programs_differ() const {
  const auto distance = static_cast<std::int64_t>(std::bit_cast<std::uintptr_t>(info.kind.destroy) -
                                                  std::bit_cast<std::uintptr_t>(&origin_of_methods));
  std::array<std::int64_t, 2> largest{distance, -distance};
  settle(group, comm::all_reduce(group, std::span{largest}, comm::Maximum{}));
  if (largest[0] != -largest[1]) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the ranks that make collection '{}' do not run the same program, or make different "
                            "collections: start one binary on all, and make collections in the same order",
                            info.name)};
  }
}

void CollectionEngine::Members::arrive(const comm::ActiveMessage& message) {
  MessageKind kind{};
  std::memcpy(&kind, message.payload.data(), sizeof kind);
  if (kind == MessageKind::termination) {
    Termination::Note note;
    std::memcpy(&note, message.payload.data() + sizeof kind, sizeof note);
    phase.take(message.source, note);
  } else {
    const nanoseconds start = info.recorder.now();
    links.has_arrived(message.source, message.payload);
    arriving_ns.fetch_add((info.recorder.now() - start).count(), std::memory_order_relaxed);  // a statistic
  }
  phase.look();
}

void CollectionEngine::Members::take(const Head& head, std::span<const std::byte> rest) {
  const ElementId id{head.to};
  switch (head.kind) {
    case MessageKind::termination:
      break;  // is not counted, and does not come here
    case MessageKind::mail:
      mail.take(head, rest);
      break;
    case MessageKind::element:
      insert(id, *table.unpack(id, rest));
      places.has_arrived(id);
      break;
    case MessageKind::moved:
      places.set_away(id, Rank{head.origin});
      break;
    case MessageKind::created:
      take_created(id, Rank{head.origin});
      break;
    case MessageKind::known:
      places.learn(id, Rank{head.origin});
      break;
    case MessageKind::erased:
      news.erased_elsewhere(id);
      break;
  }
}

void CollectionEngine::Members::take_created(ElementId id, Rank at) {
  if (phase.run() != nullptr) {
    mail.take_created(id, at);
    return;
  }
  if (table.contains(id) || places.is_away(id)) {  // in a migration
    throw news.id_is_used(id);
  }
  places.set_away(id, at);
}

/// Notifies the home of an element with the next phase.
void CollectionEngine::Members::note_home(ElementId id, MessageKind what) {
  news.note_change();
  if (const Rank at_home = places.home(id); at_home != info.self) {
    later_notes.emplace_back(at_home, Head{.kind = what, .to = id.value(), .origin = info.self.value()});
  }
}

void CollectionEngine::Members::insert(ElementId id, Element& element) {
  calls.adopt(id, element);
  table.insert(element);
}

// ---- migrations ----

void CollectionEngine::Members::begin_migration() {
  phase.begin("");
  places.begin_phase(phase.number());
  places.begin_migration();
}

void CollectionEngine::Members::end_migration() {
  phase.open();
  phase.wait();
  info.endpoint.flush();  // other ranks learn of the end from here, and this rank may block elsewhere next
  phase.close();
  news.adopt();
}

void CollectionEngine::Members::check(std::span<const Move> moves) {
  std::vector<ElementId> ids;
  for (const Move& move : moves) {
    if (move.to.value() >= info.rank_count) {
      phase.fail_all(Error{ErrorCode::bad_argument,
                           fmt::format("element {} of '{}' cannot move to rank {}: this run has {} ranks",
                                       move.id.value(),
                                       info.name,
                                       move.to.value(),
                                       info.rank_count)});
    }
    if (!table.contains(move.id)) {
      phase.fail_all(
          Error{ErrorCode::bad_argument,
                fmt::format("rank {} cannot move element {} of '{}', which is not there: name own elements only",
                            info.self.value(),
                            move.id.value(),
                            info.name)});
    }
    ids.push_back(move.id);
  }
  std::ranges::sort(ids);
  if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end()) {
    phase.fail_all(Error{ErrorCode::bad_argument,
                         fmt::format("element {} of '{}' cannot move to two places", twice->value(), info.name)});
  }
}

MigrationReport CollectionEngine::Members::migrate(std::span<const Move> moves) {
  phase.throw_unless_idle("a migration");
  check(moves);
  begin_migration();
  for (const auto& [to, head] : std::exchange(later_notes, {})) {
    links.post(to, head);
  }
  MigrationReport report;
  const std::size_t before = table.count();
  for (const Move& move : moves) {
    if (move.to != info.self) {
      try {
        send_element(move, report);
      } catch (const Error& error) {  // of an accessor, for example
        phase.fail_all(error);
      }
    }
  }
  phase.note_migration(report.sent);
  end_migration();
  report.received = table.count() + report.sent - before;
  report.took = phase.took();
  return report;
}

void CollectionEngine::Members::send_element(const Move& move, MigrationReport& report) {
  const Bytes packed = table.pack(table.here(move.id));
  links.post(move.to, {.kind = MessageKind::element, .to = move.id.value(), .origin = info.self.value()}, packed);
  ++report.sent;
  report.bytes_sent += packed.size();
  table.destroy(move.id);
  places.has_left(move.id, move.to);
  if (const Rank at_home = places.home(move.id); at_home != info.self && at_home != move.to) {
    links.post(at_home, {.kind = MessageKind::moved, .to = move.id.value(), .origin = move.to.value()});
  }
}

void CollectionEngine::Members::replace(std::span<const std::pair<ElementId, Element*>> elements) {
  begin_migration();
  table.clear();
  places.clear();  // news of this phase waits until it opens
  for (const auto& [id, element] : elements) {
    insert(id, *element);
    if (const Rank at_home = places.home(id); at_home != info.self) {
      links.post(at_home, {.kind = MessageKind::created, .to = id.value(), .origin = info.self.value()});
    }
  }
  phase.note_migration(elements.size() + 1);  // 1: also where all elements are gone
  end_migration();
}

// ---- the engine ----

CollectionEngine::CollectionEngine(const Borrowed& borrowed,
                                   const Shape& shape,
                                   CollectionOptions options,
                                   const ElementKind& kind)
    : members_{std::make_unique<Members>(CollectionInfo{.endpoint = borrowed.endpoint,
                                                        .scheduler = borrowed.scheduler,
                                                        .recorder = borrowed.recorder,
                                                        .kind = kind,
                                                        .self = borrowed.endpoint.self(),
                                                        .rank_count = borrowed.endpoint.rank_count(),
                                                        .shape = shape,
                                                        .name = options.name},
                                         options)} {}

CollectionEngine::~CollectionEngine() = default;

const CollectionInfo& CollectionEngine::info() const noexcept {
  return members_->info;
}

const comm::Group& CollectionEngine::group() const noexcept {
  return members_->group;
}

Rank CollectionEngine::home(ElementId id) const {
  return members_->places.home(id);
}

std::uint64_t CollectionEngine::placement() const noexcept {
  return members_->phase.placement();
}

void CollectionEngine::add(ElementId id, Element& element) {
  members_->insert(id, element);
}

void CollectionEngine::create(ElementId id, Element& element) {
  Members& m = *members_;
  try {
    m.phase.throw_unless_idle("creation of an element");
    if (m.table.contains(id) || m.places.is_away(id)) {
      throw m.news.id_is_used(id);
    }
  } catch (...) {
    m.info.kind.destroy(&element);
    throw;
  }
  add(id, element);
  m.note_home(id, MessageKind::created);
}

Element* CollectionEngine::take_out(ElementId id) {
  members_->phase.throw_unless_idle("removal of an element");
  Element* const element = members_->table.remove(id);
  members_->note_home(id, MessageKind::erased);
  return element;
}

Element* CollectionEngine::find(ElementId id) const {
  members_->phase.throw_unless_idle("a search for an element");
  return members_->table.find(id);
}

std::span<Element* const> CollectionEngine::local() const {
  members_->phase.throw_unless_idle("a list of elements");
  return members_->table.in_order();
}

Bytes CollectionEngine::pack(ElementId id) const {
  members_->phase.throw_unless_idle("packing of an element");
  return members_->table.pack(members_->table.here(id));
}

Bytes CollectionEngine::pack(const Element& element) const {
  return members_->table.pack(element);
}

Element* CollectionEngine::unpack(ElementId id, std::span<const std::byte> packed) const {
  return members_->table.unpack(id, packed);
}

void CollectionEngine::reset_loads() {
  for (Element* const element : local()) {
    element->busy = {};
    element->sent.to.clear();
  }
  members_->calls.reset_overhead();
  members_->arriving_ns.store(0, std::memory_order_relaxed);  // a statistic, as below
}

nanoseconds CollectionEngine::overhead() const noexcept {
  return members_->calls.overhead() + nanoseconds{members_->arriving_ns.load(std::memory_order_relaxed)};
}

void CollectionEngine::start(PhaseWork work, std::string_view name, PhaseGate* gate) {
  Members& m = *members_;
  m.phase.throw_unless_idle("a phase");
  if (gate != nullptr) {
    gate->begin_phase(placement());
  }
  m.phase.begin(name);
  m.places.begin_phase(m.phase.number());
  (void)m.phase.start_run();
  m.calls.begin(std::move(work), gate, m.table.in_order());
  for (const auto& [to, head] : std::exchange(m.later_notes, {})) {
    m.links.post(to, head);
  }
  for (const auto& [to, mail] : std::exchange(m.later_mail, {})) {
    m.mail.deliver(m.mail.route(to), to, *mail, {});
  }
  m.phase.open();
}

task::Run* CollectionEngine::run() const noexcept {
  return members_->phase.run();
}

PhaseReport CollectionEngine::finish(Flush flush) {
  Members& m = *members_;
  if (flush == Flush::yes) {
    m.phase.wait();
    m.info.endpoint.flush();  // other ranks learn of the end from here, and this rank may block elsewhere next
  }
  m.phase.close();
  m.news.adopt();
  if (const std::optional<Error> error = m.calls.unfinished(m.table.in_order())) {
    m.phase.fail_all(*error);
  }
  PhaseReport report{.took = m.phase.took()};
  m.calls.report(report);
  m.mail.report(report);
  m.news.report_lost(report);
  return report;
}

void CollectionEngine::send_later(ElementId to, Mail& mail) {
  try {
    members_->phase.throw_unless_idle("a message");
  } catch (...) {
    mail.kind->drop(&mail);
    throw;
  }
  members_->later_mail.emplace_back(to, &mail);
}

MigrationReport CollectionEngine::migrate(std::span<const Move> moves) {
  return members_->migrate(moves);
}

void CollectionEngine::replace(std::span<const std::pair<ElementId, Element*>> elements) {
  members_->later_notes.clear();
  members_->replace(elements);
}

}  // namespace plait::data::detail
