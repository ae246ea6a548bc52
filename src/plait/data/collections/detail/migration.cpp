// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/detail/migration.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plait::data::detail {

void Migration::begin() {
  parts_.phase.begin("");
  parts_.places.begin_phase(parts_.phase.number());
  parts_.places.begin_migration();
}

void Migration::end() {
  parts_.phase.open();
  parts_.phase.wait();
  info_.endpoint.flush();  // other ranks learn of the end from here, and this rank may block elsewhere next
  parts_.phase.close();
  parts_.news.adopt();
}

void Migration::check(std::span<const Move> moves) {
  std::vector<ElementId> ids;
  for (const Move& move : moves) {
    if (move.to.value() >= info_.rank_count) {
      parts_.phase.fail_all(Error{ErrorCode::bad_argument,
                                  fmt::format("element {} of '{}' cannot move to rank {}: this run has {} ranks",
                                              move.id.value(),
                                              info_.name,
                                              move.to.value(),
                                              info_.rank_count)});
    }
    if (!parts_.table.contains(move.id)) {
      parts_.phase.fail_all(
          Error{ErrorCode::bad_argument,
                fmt::format("rank {} cannot move element {} of '{}', which is not there: name own elements only",
                            info_.self.value(),
                            move.id.value(),
                            info_.name)});
    }
    ids.push_back(move.id);
  }
  std::ranges::sort(ids);
  if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end()) {
    parts_.phase.fail_all(
        Error{ErrorCode::bad_argument,
              fmt::format("element {} of '{}' cannot move to two places", twice->value(), info_.name)});
  }
}

MigrationReport Migration::migrate(std::span<const Move> moves, const Notes& notes) {
  parts_.phase.throw_unless_idle("a migration");
  check(moves);
  begin();
  for (const auto& [to, head] : notes) {
    parts_.links.post(to, head);
  }
  MigrationReport report;
  const std::size_t before = parts_.table.count();
  for (const Move& move : moves) {
    if (move.to != info_.self) {
      try {
        send(move, report);
      } catch (const Error& error) {  // of an accessor, for example
        parts_.phase.fail_all(error);
      }
    }
  }
  parts_.phase.note_migration(report.sent);
  end();
  report.received = parts_.table.count() + report.sent - before;
  report.took = parts_.phase.took();
  return report;
}

void Migration::send(const Move& move, MigrationReport& report) {
  const Bytes packed = parts_.table.pack(parts_.table.here(move.id));
  parts_.links.post(
      move.to, {.kind = MessageKind::element, .to = move.id.value(), .origin = info_.self.value()}, packed);
  ++report.sent;
  report.bytes_sent += packed.size();
  parts_.table.destroy(move.id);
  parts_.places.has_left(move.id, move.to);
  if (const Rank at_home = parts_.places.home(move.id); at_home != info_.self && at_home != move.to) {
    parts_.links.post(at_home, {.kind = MessageKind::moved, .to = move.id.value(), .origin = move.to.value()});
  }
}

void Migration::insert(ElementId id, Element& element) {
  parts_.calls.adopt(id, element);
  parts_.table.insert(element);
}

void Migration::take(ElementId id, std::span<const std::byte> packed) {
  insert(id, *parts_.table.unpack(id, packed));
  parts_.places.has_arrived(id);
}

void Migration::replace(std::span<const std::pair<ElementId, Element*>> elements) {
  begin();
  parts_.table.clear();
  parts_.places.clear();  // news of this phase waits until it opens
  for (const auto& [id, element] : elements) {
    insert(id, *element);
    if (const Rank at_home = parts_.places.home(id); at_home != info_.self) {
      parts_.links.post(at_home, {.kind = MessageKind::created, .to = id.value(), .origin = info_.self.value()});
    }
  }
  parts_.phase.note_migration(elements.size() + 1);  // 1: also where all elements are gone
  end();
}

}  // namespace plait::data::detail
