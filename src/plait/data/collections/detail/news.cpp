// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/detail/news.hpp"

#include <mutex>

#include <fmt/format.h>

namespace plait::data::detail {

namespace {

constexpr std::size_t lost_named_max = 100;

}  // namespace

News::~News() {
  for (const auto& [to, mail] : kept_) {
    mail->kind->drop(mail);
  }
  for (const auto& [id, element] : created_) {
    info_.kind.destroy(element);
  }
}

void News::created_here(Element& element, const Deliver& deliver) {
  const ElementId id = element.id;
  const std::lock_guard lock{lock_};
  created_count_.fetch_add(1, std::memory_order_release);  // with route_to_created()
  const bool is_used = table_.contains(id) || registered_.contains(id.value()) || places_.is_away(id);
  if (is_used || !created_.emplace(id.value(), &element).second) {
    info_.kind.destroy(&element);
    throw id_is_used(id);
  }
  note_change();
  deliver_kept(id, {.local = &element}, deliver);
}

void News::created_elsewhere(ElementId id, Rank at, const Deliver& deliver) {
  const std::lock_guard lock{lock_};
  if (table_.contains(id) || places_.is_away(id) || created_.contains(id.value()) || registered_.contains(id.value())) {
    throw id_is_used(id);
  }
  created_count_.fetch_add(1, std::memory_order_release);  // with route_to_created()
  registered_.emplace(id.value(), at);
  deliver_kept(id, {.rank = at}, deliver);
}

void News::erased_here(Element& element) {
  const std::lock_guard lock{lock_};
  erased_.push_back(&element);
  note_change();
}

void News::erased_elsewhere(ElementId id) {
  const std::lock_guard lock{lock_};
  gone_.push_back(id);
}

void News::keep(ElementId to, Mail& mail, const Deliver& deliver) {
  const std::lock_guard lock{lock_};
  kept_.emplace_back(to, &mail);
  deliver_kept(to, find_created(to), deliver);  // it may have been created meanwhile
}

Route News::route_to_created(ElementId id) {
  if (created_count_.load(std::memory_order_acquire) == 0) {  // with created_here() and created_elsewhere()
    return {};
  }
  const std::lock_guard lock{lock_};
  return find_created(id);
}

/// With the lock held.
Route News::find_created(ElementId id) const {
  if (const auto place = created_.find(id.value()); place != created_.end()) {
    return {.local = place->second};
  }
  const auto place = registered_.find(id.value());
  return {.rank = place == registered_.end() ? Rank{} : place->second};
}

/// With the lock held, so that later messages do not overtake those that have waited.
void News::deliver_kept(ElementId id, const Route& route, const Deliver& deliver) {
  if (route.local == nullptr && !route.rank) {
    return;
  }
  std::erase_if(kept_, [&](const std::pair<ElementId, Mail*>& each) {
    if (each.first != id) {
      return false;
    }
    deliver(route, id, *each.second);
    return true;
  });
}

void News::lose(ElementId from, ElementId to) {
  const std::lock_guard lock{lock_};
  ++lost_count_;
  if (lost_.size() < lost_named_max) {
    lost_.push_back({from, to});
  }
}

void News::adopt() {
  for (const auto& [id, element] : std::exchange(created_, {})) {
    table_.insert(*element);
  }
  for (const auto& [id, rank] : std::exchange(registered_, {})) {
    places_.set_away(ElementId{id}, rank);
  }
  created_count_.store(0, std::memory_order_relaxed);  // no other thread is here
  for (Element* const element : std::exchange(erased_, {})) {
    table_.destroy(element->id);
  }
  for (const ElementId id : std::exchange(gone_, {})) {
    places_.forget(id);
  }
  for (const auto& [to, mail] : std::exchange(kept_, {})) {
    lose(mail->from, to);
    mail->kind->drop(mail);
  }
}

void News::report_lost(PhaseReport& report) {
  const std::lock_guard lock{lock_};
  report.lost_count = std::exchange(lost_count_, 0);
  report.lost = std::exchange(lost_, {});
}

Error News::id_is_used(ElementId id) const {
  return Error{ErrorCode::bad_argument,
               fmt::format("element {} of '{}' cannot be created: the id is in use, or was in this phase; use another",
                           id.value(),
                           info_.name)};
}

}  // namespace plait::data::detail
