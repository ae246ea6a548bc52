// SPDX-License-Identifier: Apache-2.0
// Elements that go from rank to rank, between phases, and who knows of it.
#include <algorithm>
#include <exception>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "plait/data/detail/call.hpp"
#include "plait/data/detail/collection_engine.hpp"
#include "plait/data/turn.hpp"

namespace plait::data::detail {

namespace {

constexpr std::uint32_t phases_between_looks = 64;  // at what is known of places

/// With an exception at hand: as an error that begins with what it has prevented.
Error error_at_hand(const std::string& prevented) {
  try {
    throw;
  } catch (const Error& error) {
    return Error{error.code(), fmt::format("{}: {}", prevented, error.what())};
  } catch (const std::exception& error) {
    return Error{ErrorCode::user_task, fmt::format("{}: {}", prevented, error.what())};
  } catch (...) {
    return Error{ErrorCode::user_task, fmt::format("{}: it threw something that is no exception", prevented)};
  }
}

void erase_packed(std::span<const std::byte> /*packed*/, void* /*object*/, Turn& turn) {
  turn.erase();
}

}  // namespace

void CollectionEngine::apply_known() {
  const std::lock_guard lock{news_lock_};
  for (const auto& [id, where] : std::exchange(known_, {})) {
    if (where != self_ && !table_.contains(id.value())) {
      places_.insert_or_assign(id.value(), Heard{where, static_cast<std::uint32_t>(phase_)});
    }
  }
}

/// So that what is known of places stays in proportion to what is asked.
void CollectionEngine::forget_unused() {
  if (phase_ % phases_between_looks != 0) {
    return;
  }
  boost::unordered::erase_if(places_, [this](const auto& place) {
    return static_cast<std::uint32_t>(phase_) - place.second.used > phases_between_looks;
  });
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
  is_migrating_ = true;
  migrations_ = {static_cast<std::uint32_t>(phase_), migrations_[0]};
  forget_unused();
  for (const auto& [to, head] : std::exchange(later_, {})) {
    post(to, head, {});
  }
  MigrationReport report;
  const std::size_t before = table_.size();
  for (const Move& move : moves) {
    if (move.to != self_) {
      try {
        send_element(move, report);
      } catch (const Error& error) {  // of an accessor, for example
        fail_all(error);
      }
    }
  }
  open_for_messages();
  endpoint_.progress_until([this] { return termination_.is_over() || (look() && termination_.is_over()); });
  close_phase();
  is_migrating_ = false;
  report.received = table_.size() + report.sent - before;
  report.took = recorder_.now() - start;
  return report;
}

void CollectionEngine::send_element(const Move& move, MigrationReport& report) {
  Element* const element = find(move.id);
  const Bytes packed = pack(*element);
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
    places_.insert_or_assign(move.id.value(), Heard{move.to, static_cast<std::uint32_t>(phase_)});
    post(at_home, {.kind = MessageKind::moved, .to = move.id.value(), .origin = move.to.value()}, {});
  } else {
    places_.erase(move.id.value());
  }
}

Bytes CollectionEngine::pack(const Element& element) const {
  try {
    return kind_.pack(element);
  } catch (...) {
    throw error_at_hand(fmt::format(
        "element {} of '{}' cannot be packed on rank {}", element.id.value(), options_.name, self_.value()));
  }
}

Element* CollectionEngine::unpack(ElementId id, std::span<const std::byte> packed) const {
  try {
    Element* const element = kind_.unpack(packed);
    element->id = id;
    return element;
  } catch (...) {
    throw error_at_hand(
        fmt::format("element {} of '{}' cannot be unpacked on rank {}", id.value(), options_.name, self_.value()));
  }
}

/// An element has come.
void CollectionEngine::adopt(const Head& head, std::span<const std::byte> packed) {
  const ElementId id{head.to};
  insert(id, unpack(id, packed));
  places_.erase(id.value());
  if (home(id) == self_) {
    away_.erase(id.value());
  }
}

// ---- elements that are made and erased ----

void CollectionEngine::create_between(ElementId id, Element* element) {
  const Rank at_home = home(id);
  if (table_.contains(id.value()) || (at_home == self_ && away_.contains(id.value()))) {
    kind_.destroy(element);
    throw id_is_used(id);
  }
  insert(id, element);
  if (at_home != self_) {
    later_.emplace_back(at_home, Head{.kind = MessageKind::created, .to = id.value(), .origin = self_.value()});
  }
}

void CollectionEngine::throw_not_here(ElementId id) const {
  throw Error{ErrorCode::bad_argument,
              fmt::format("element {} of '{}' is not on rank {}", id.value(), options_.name, self_.value())};
}

const Element& CollectionEngine::here(ElementId id) const {
  const Element* const element = find(id);
  if (element == nullptr) {
    throw_not_here(id);
  }
  return *element;
}

Element* CollectionEngine::take_out(ElementId id) {
  Element* const element = find(id);
  if (element == nullptr) {
    throw_not_here(id);
  }
  table_.erase(id.value());
  is_order_old_ = true;
  if (const Rank at_home = home(id); at_home != self_) {
    later_.emplace_back(at_home, Head{.kind = MessageKind::erased, .to = id.value(), .origin = self_.value()});
  }
  return element;
}

void CollectionEngine::create(ElementId id, Element* element, WorkerId worker) {
  prepare(id, *element);
  element->phase = static_cast<std::uint32_t>(phase_);
  element->next_step = work_.steps;  // its turns begin with the next phase
  const Rank at_home = home(id);
  {
    const std::lock_guard lock{news_lock_};
    fresh_count_.fetch_add(1, std::memory_order_release);  // with route()
    const bool is_used = table_.contains(id.value()) || registered_.contains(id.value()) ||
                         (at_home == self_ && away_.contains(id.value()));
    if (is_used || !fresh_.emplace(id.value(), element).second) {
      kind_.destroy(element);
      throw id_is_used(id);
    }
    deliver_unknown(id, {.local = element}, worker);
  }
  if (at_home != self_) {
    post(at_home, {.kind = MessageKind::created, .to = id.value(), .origin = self_.value()}, {});
  }
}

void CollectionEngine::note_created(ElementId id, Rank where) {
  const std::lock_guard lock{news_lock_};
  const std::uint64_t key = id.value();
  if (table_.contains(key) || away_.contains(key) || fresh_.contains(key) || registered_.contains(key)) {
    throw id_is_used(id);
  }
  if (is_migrating_) {
    away_.emplace(key, where);
    return;
  }
  fresh_count_.fetch_add(1, std::memory_order_release);  // with route()
  registered_.emplace(key, where);
  deliver_unknown(id, {.rank = where}, {});
}

void CollectionEngine::note_erased(ElementId id) {
  const std::lock_guard lock{news_lock_};
  gone_.push_back(id);
}

Error CollectionEngine::id_is_used(ElementId id) const {
  return Error{ErrorCode::bad_argument,
               fmt::format("element {} of '{}' cannot be made: there is one with this id, or was in this phase",
                           id.value(),
                           options_.name)};
}

void CollectionEngine::send_erase(ElementId id, Element& sender, WorkerId worker) {
  const Route to = route(id);
  if (to.is_elsewhere()) {
    Bytes& message = buffer(worker);
    begin_post(message);
    post_mail(to.rank, {.from = sender.id, .to = id, .call = &erase_packed}, message);
  } else {
    deliver(to, id, *new PackedMail{sender.id, no_step, &erase_packed, {}}, worker);
  }
}

}  // namespace plait::data::detail
