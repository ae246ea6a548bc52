// SPDX-License-Identifier: Apache-2.0
// What submissions do to data: who has which value, who must send it to whom, what waits for what.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/task/flow/detail/flow_engine.hpp"

namespace plait::task::detail {

namespace {

constexpr KindName send_kind{.name = "send", .hash = hash_of("send")};
constexpr KindName receive_kind{.name = "receive", .hash = hash_of("receive")};
constexpr KindName memory_kind{.name = "memory", .hash = hash_of("memory")};
constexpr KindName neutral_kind{.name = "neutral", .hash = hash_of("neutral")};
constexpr KindName combine_kind{.name = "combine", .hash = hash_of("combine")};
constexpr std::size_t bits = 64;

}  // namespace

LocalDatum& FlowEngine::local_of(Datum& datum) {
  if (!datum.local) {
    datum.local = std::make_unique<LocalDatum>();
  }
  return *datum.local;
}

void FlowEngine::throw_if_no_value(const Datum& datum, const char* wish) {
  if (!datum.local || !datum.local->has_value) {
    fail(Error{ErrorCode::bad_argument,
               fmt::format("{} is {}, but has no value: no task submitted before writes it, and rank {} has not set it "
                           "with local()",
                           name_of(datum),
                           wish,
                           datum.owner.value())});
  }
}

// ---- values on their way ----

/// Sees to it that rank `to` has the present value.
void FlowEngine::bring(Datum& datum, Rank to, int priority) {
  if (datum.holder == self_) {
    throw_if_no_value(datum, "read");
  }
  if (datum.holder == to) {
    return;
  }
  if (datum.holder == self_) {
    LocalDatum& local = *datum.local;
    if (local.sent_epoch != epoch_) {
      forget_sent(local);  // a rank that is to get it again cannot join what it has joined before
      local.sent_epoch = epoch_;
      local.sent.assign(endpoint_.rank_count() / bits + 1, 0);
    }
    std::uint64_t& word = local.sent[to.value() / bits];
    const std::uint64_t bit = std::uint64_t{1} << to.value() % bits;
    if ((word & bit) == 0) {
      word |= bit;
      send(datum, *local.current, to, priority);
    }
    return;
  }
  if (to != self_) {
    return;
  }
  LocalDatum& local = local_of(datum);
  if (local.current == nullptr) {
    local.current = datum.owner == self_ ? local.home : &new_copy(datum);
    receive(*local.current, {.rank = datum.holder, .tag = tag_of(datum), .comm = options_.comm}, priority);
    list_copy(datum);
  }
}

void FlowEngine::send(Datum& datum, Place& place, Rank to, int priority) {
  const comm::Destination destination{.rank = to,
                                      .priority = static_cast<std::int16_t>(std::clamp(priority, -32'768, 32'767))};
  LocalDatum& local = *datum.local;
  const bool is_present = &place == local.current;
  if (is_present && join_transfer(local, destination)) {
    return;
  }
  Record& record = make(Part::send, send_kind, priority);
  record.destinations.assign(1, destination);
  record.address = {.rank = to, .tag = tag_of(datum), .comm = options_.comm};
  attach(record, place, Mode::read);
  if (is_present) {
    local.transfer = {.record = &record, .serial = record.serial};
  }
  begin(record);
}

/// Ranks that are named before the value is ready share one message.
bool FlowEngine::join_transfer(LocalDatum& local, const comm::Destination& destination) {
  if (local.transfer.record == nullptr || options_.fanout == Fanout::single_messages) {
    return false;
  }
  Record& transfer = *local.transfer.record;
  const std::lock_guard lock{transfer.lock};
  if (transfer.serial != local.transfer.serial || transfer.has_ended || transfer.is_posted) {
    return false;
  }
  transfer.destinations.push_back(destination);
  return true;
}

/// Two records: one writes the place and ends when the data is there, one reads it until it is not passed on any more.
void FlowEngine::receive(Place& place, const comm::Address& from, int priority) {
  Record& record = make(Part::receive, receive_kind, priority);
  Record& rest = make(Part::passing_on, receive_kind, priority);
  record.partner = &rest;
  rest.partner = &record;
  record.address = from;
  attach(record, place, Mode::write);
  place.users.fetch_add(1, std::memory_order_relaxed);  // the datum's own count is still there
  rest.uses.push_back({.place = &place, .mode = Mode::read});
  note_reader(place, {.record = &rest, .serial = rest.serial});
  if (place.is_copy) {
    take_memory(record, place);
  }
  begin(rest);
  begin(record);
}

// ---- places ----

Place& FlowEngine::new_copy(Datum& datum) {
  auto* const place = new Place{};  // leave() ends it
  place->bytes = datum.bytes;
  place->is_copy = true;
  return *place;
}

/// A copy that does not come from elsewhere.
Place& FlowEngine::new_writable_copy(Datum& datum) {
  Place& place = new_copy(datum);
  Record& gate = make(Part::gate, memory_kind, 0);
  attach(gate, place, Mode::write);
  take_memory(gate, place);
  begin(gate);
  return place;
}

/// Where this rank may write the datum, whatever is there.
Place& FlowEngine::writable(Datum& datum) {
  LocalDatum& local = local_of(datum);
  if (local.current == nullptr) {
    local.current = datum.owner == self_ ? local.home : &new_writable_copy(datum);
    list_copy(datum);
  }
  return *local.current;
}

void FlowEngine::list_copy(Datum& datum) {
  if (!std::exchange(datum.local->is_listed, true)) {
    copies_.push_back(&datum);
  }
}

/// Has `record` wait until the next task of this rank is near and there is memory.
void FlowEngine::take_memory(Record& record, Place& place) {
  record.waits.fetch_add(1, std::memory_order_relaxed);  // 1 is still kept for begin()
  memory_.ask(record, place, task_count_);
  give_memory(nullptr);
}

void FlowEngine::use_in_task(Record& task, Datum& datum, Mode mode) {
  attach(task, mode == Mode::write ? writable(datum) : *datum.local->current, mode, &datum);
}

/// `by` has made a new value.
void FlowEngine::written(Datum& datum, Rank by) {
  ++datum.version;
  datum.holder = by;
  if (by != datum.owner && !datum.is_away) {
    datum.is_away = true;
    away_.push_back(&datum);
  }
  if (!datum.local) {
    return;
  }
  forget_sent(*datum.local);
  if (by == self_) {
    datum.local->has_value = true;
  } else {
    forget_present(datum);
  }
}

void FlowEngine::forget_present(Datum& datum) {
  retire(datum.local->current);
}

void FlowEngine::forget_sent(LocalDatum& local) {
  local.sent_epoch = 0;
  local.transfer = {};
}

void FlowEngine::go_home(Datum& datum) {
  const Rank holder = datum.holder;
  if (holder == datum.owner) {
    return;
  }
  bring(datum, datum.owner, 0);
  datum.holder = datum.owner;
  if (holder == self_) {
    forget_sent(*datum.local);
    forget_present(datum);
  } else if (datum.owner == self_) {
    forget_sent(*datum.local);
    datum.local->has_value = true;
  }
}

// ---- reductions ----

void FlowEngine::begin_reduction(Datum& datum) {
  if (std::exchange(datum.is_reducing, true)) {
    return;
  }
  if (!std::exchange(datum.is_listed_as_reducing, true)) {
    reducing_.push_back(&datum);
  }
  ++datum.version;
  if (datum.local) {
    forget_sent(*datum.local);
    if (datum.holder != self_) {
      forget_present(datum);
    }
  }
}

/// Ranks that do not hold the value add to a copy of their own.
void FlowEngine::contribute(Record* task, Datum& datum, Rank executes) {
  if (!datum.reduction) {
    fail(Error{ErrorCode::bad_argument,
               fmt::format("{} is reduced, but nothing says how: call reduces_with() on every rank", name_of(datum))});
  }
  begin_reduction(datum);
  if (datum.holder == self_ && executes != self_) {
    std::vector<Rank>& contributors = datum.local->contributors;
    if (std::ranges::find(contributors, executes) == contributors.end()) {
      contributors.push_back(executes);
    }
    if (!datum.local->has_value) {
      set_neutral(datum, writable(datum));
      datum.local->has_value = true;
    }
  }
  if (task == nullptr) {
    return;
  }
  LocalDatum& local = local_of(datum);
  if (datum.holder == self_) {
    if (!std::exchange(local.has_value, true)) {
      set_neutral(datum, writable(datum));
    }
    attach(*task, *local.current, Mode::reduce, &datum);
    return;
  }
  if (local.partial == nullptr) {
    local.partial = &new_writable_copy(datum);
    set_neutral(datum, *local.partial);
  }
  attach(*task, *local.partial, Mode::reduce, &datum);
}

void FlowEngine::set_neutral(Datum& datum, Place& place) {
  Record& task = make(Part::task, neutral_kind, 0);
  attach(task, place, Mode::write);
  task.emplace(datum.reduction.get());
  task.call = [](Record& record, TaskContext& /*context*/) {
    (*static_cast<const Reduction* const*>(record.kernel_place))->set_neutral(record.bytes_of(0));
  };
  begin(task);
}

/// The contributions go to the holder, which puts them together in the order of the ranks.
void FlowEngine::end_reduction(Datum& datum) {
  if (!std::exchange(datum.is_reducing, false)) {
    return;
  }
  ++datum.version;
  if (!datum.local) {
    return;
  }
  LocalDatum& local = *datum.local;
  forget_sent(local);
  if (datum.holder == self_) {
    std::ranges::sort(local.contributors);
    for (const Rank contributor : std::exchange(local.contributors, {})) {
      combine(datum, contributor);
    }
  } else if (local.partial != nullptr) {
    send(datum, *local.partial, datum.holder, 0);
    retire(local.partial);
  }
}

void FlowEngine::combine(Datum& datum, Rank contributor) {
  Place* contribution = &new_copy(datum);
  receive(*contribution, {.rank = contributor, .tag = tag_of(datum), .comm = options_.comm}, 0);
  Record& task = make(Part::task, combine_kind, 0);
  count(task);
  attach(task, *datum.local->current, Mode::read_write);
  attach(task, *contribution, Mode::read);
  task.emplace(datum.reduction.get());
  task.call = [](Record& record, TaskContext& /*context*/) {
    (*static_cast<const Reduction* const*>(record.kernel_place))->combine(record.bytes_of(0), record.bytes_of(1));
  };
  begin(task);
  retire(contribution);
}

}  // namespace plait::task::detail
