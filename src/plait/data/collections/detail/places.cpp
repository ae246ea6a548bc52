// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/detail/places.hpp"

#include <atomic>
#include <mutex>

namespace plait::data::detail {

namespace {

constexpr std::uint32_t phases_remembered = 64;

}  // namespace

Places::Places(const CollectionInfo& info, const ElementTable& here, Mapping mapping)
    : info_{info}, here_{here}, mapping_{std::move(mapping)}, beyond_{scattered(info.rank_count)} {}

Rank Places::home(ElementId id) const {
  return info_.shape.is_regular() && id.value() < info_.shape.count() ? mapping_(id) : beyond_(id);
}

Rank Places::next_stop(ElementId id) {
  const Rank at_home = home(id);
  if (at_home == info_.self) {
    const auto place = away_.find(id.value());
    return place == away_.end() ? Rank{} : place->second;
  }
  const auto place = heard_.find(id.value());
  if (place == heard_.end() || !is_trusted(place->second)) {
    return at_home;
  }
  std::atomic_ref{place->second.used}.store(phase_, std::memory_order_relaxed);  // a hint
  return place->second.rank;
}

/// Whether the element has moved once at most since its place was right: then that rank knows where it is, and forwards
/// a message. After two migrations it may know an old place only, and the home is asked.
bool Places::is_trusted(Heard& place) const {
  return std::atomic_ref{place.used}.load(std::memory_order_relaxed) >= migrations_[1];  // a hint
}

void Places::begin_phase(std::uint64_t phase) {
  phase_ = static_cast<std::uint32_t>(phase);
  const std::lock_guard lock{lock_};
  for (const auto& [id, at] : std::exchange(learnt_, {})) {
    if (at != info_.self && !here_.contains(id)) {
      heard_.insert_or_assign(id.value(), Heard{at, phase_ - 1});
    }
  }
}

void Places::begin_migration() {
  migrations_ = {phase_, migrations_[0]};
  if (phase_ % phases_remembered == 0) {
    boost::unordered::erase_if(heard_,
                               [this](const auto& place) { return phase_ - place.second.used > phases_remembered; });
  }
}

void Places::has_left(ElementId id, Rank to) {
  const Rank at_home = home(id);
  if (at_home == info_.self) {
    away_.insert_or_assign(id.value(), to);
  } else if (to != at_home) {
    heard_.insert_or_assign(id.value(), Heard{to, phase_});
  } else {
    heard_.erase(id.value());
  }
}

void Places::has_arrived(ElementId id) {
  heard_.erase(id.value());
  if (home(id) == info_.self) {
    away_.erase(id.value());
  }
}

void Places::clear() {
  away_.clear();
  heard_.clear();
}

void Places::learn(ElementId id, Rank at) {
  const std::lock_guard lock{lock_};
  learnt_.emplace_back(id, at);
}

}  // namespace plait::data::detail
