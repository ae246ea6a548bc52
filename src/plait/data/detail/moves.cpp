// SPDX-License-Identifier: Apache-2.0
// Elements that go from rank to rank, between phases, and who knows of it.
#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "plait/data/detail/collection_engine.hpp"

namespace plait::data::detail {

void CollectionEngine::apply_known() {
  const std::lock_guard lock{news_lock_};
  for (const auto& [id, where] : std::exchange(known_, {})) {
    if (where != self_ && !table_.contains(id.value())) {
      places_.insert_or_assign(id.value(), where);
    }
  }
}

void CollectionEngine::check_moves(std::span<const Move> moves) {
  std::vector<ElementId> ids;
  for (const Move& move : moves) {
    if (move.to.value() >= rank_count_) {
      fail_all(Error{ErrorCode::bad_argument,
                     fmt::format("element {} of '{}' cannot move to rank {}: this run has {} ranks",
                                 move.id.value(),
                                 options_.name,
                                 move.to.value(),
                                 rank_count_)});
    }
    if (find(move.id) == nullptr) {
      fail_all(Error{ErrorCode::bad_argument,
                     fmt::format("rank {} cannot move element {} of '{}', which is not there: name own elements only",
                                 self_.value(),
                                 move.id.value(),
                                 options_.name)});
    }
    ids.push_back(move.id);
  }
  std::ranges::sort(ids);
  if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end()) {
    fail_all(Error{ErrorCode::bad_argument,
                   fmt::format("element {} of '{}' cannot move to two places", twice->value(), options_.name)});
  }
}

MigrationReport CollectionEngine::migrate(std::span<const Move> moves) {
  const nanoseconds start = recorder_.now();
  throw_if_failed();
  check_moves(moves);
  begin_phase("");
  MigrationReport report;
  const std::size_t before = table_.size();
  for (const Move& move : moves) {
    if (move.to != self_) {
      send_element(move, report);
    }
  }
  open_for_messages();
  endpoint_.progress_until([this] { return termination_.is_over() || (look() && termination_.is_over()); });
  close_phase();
  report.received = table_.size() + report.sent - before;
  report.took = recorder_.now() - start;
  return report;
}

void CollectionEngine::send_element(const Move& move, MigrationReport& report) {
  Element* const element = find(move.id);
  const Bytes packed = kind_.pack(*element);
  post(move.to, {.kind = MessageKind::element, .to = move.id.value(), .origin = self_.value()}, packed);
  ++report.sent;
  report.bytes_sent += packed.size();
  table_.erase(move.id.value());
  is_order_old_ = true;
  kind_.destroy(element);
  const Rank at_home = home(move.id);
  if (at_home == self_) {
    away_.insert_or_assign(move.id.value(), move.to);
    return;
  }
  if (move.to != at_home) {
    places_.insert_or_assign(move.id.value(), move.to);
    post(at_home, {.kind = MessageKind::moved, .to = move.id.value(), .origin = move.to.value()}, {});
  } else {
    places_.erase(move.id.value());
  }
}

/// An element has come.
void CollectionEngine::adopt(const Head& head, std::span<const std::byte> packed) {
  const ElementId id{head.to};
  insert(id, kind_.unpack(packed));
  places_.erase(id.value());
  if (home(id) == self_) {
    away_.erase(id.value());
  }
}

void CollectionEngine::note_home(ElementId id, Rank where) {
  away_.insert_or_assign(id.value(), where);
}

}  // namespace plait::data::detail
