// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/values.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::task::detail {

namespace {

constexpr KindName send_kind{.name = "send", .hash = hash_of("send")};
constexpr KindName receive_kind{.name = "receive", .hash = hash_of("receive")};
constexpr KindName memory_kind{.name = "memory", .hash = hash_of("memory")};
constexpr KindName neutral_kind{.name = "neutral", .hash = hash_of("neutral")};
constexpr KindName combine_kind{.name = "combine", .hash = hash_of("combine")};
constexpr KindName gate_kind{.name = "later", .hash = hash_of("later")};
constexpr std::size_t bits = 64;

/// Expects: `Values::version_of` has been called in this epoch.
Tag tag_of(const Datum& datum) noexcept {
  return tag_of_version(datum.id, datum.version);
}

Place& new_copy(const Datum& datum) {
  auto* const place = new Place{};  // CopyMemory::leave() ends it
  place->bytes = datum.bytes;
  place->is_copy = true;
  return *place;
}

RecordName name_of(Record& record) {
  return {.record = &record, .serial = record.serial};
}

void append(std::vector<RecordName>& list, std::vector<RecordName>& more) {
  list.insert(list.end(), more.begin(), more.end());
  more.clear();
}

bool is_over(const RecordName& name) {
  const std::lock_guard lock{name.record->lock};
  return name.record->serial != name.serial || name.record->has_ended;
}

/// False when it has ended.
bool depend(Record& record, const RecordName& earlier) {
  const std::lock_guard lock{earlier.record->lock};
  if (earlier.record->serial != earlier.serial || earlier.record->has_ended) {
    return false;
  }
  record.waits.fetch_add(1, std::memory_order_relaxed);  // 1 is still kept for begin()
  earlier.record->later.push_back(&record);
  return true;
}

/// Drops those that have ended.
void depend_on_all(Record& record, std::vector<RecordName>& earlier) {
  std::erase_if(earlier, [&](const RecordName& name) { return !depend(record, name); });
}

void forget_sent(LocalDatum& local) {
  local.sent_epoch = 0;
  local.transfer = {};
}

}  // namespace

LocalDatum& Values::local_of(Datum& datum) {
  if (!datum.local) {
    datum.local = std::make_unique<LocalDatum>();
  }
  return *datum.local;
}

void Values::throw_if_no_value(const Datum& datum, const char* wish) {
  if (!datum.local || !datum.local->has_value) {
    records_.front().fail(
        Error{ErrorCode::bad_argument,
              fmt::format("{} is {}, but has no value: no task submitted before writes it, and rank {} has not set it "
                          "with local()",
                          name_of(datum),
                          wish,
                          datum.owner.value())});
  }
}

// ---- versions ----

std::uint32_t& Values::version_of(Datum& datum) const noexcept {
  if (datum.epoch != epoch_) {
    datum.epoch = epoch_;
    datum.version = 0;
    datum.is_received = false;
  }
  return datum.version;
}

void Values::select(const AccessNote& access, const KindName& task) {
  Datum& datum = *access.datum;
  if (transfers_ != nullptr && datum.owner != self_) {
    select_elsewhere(access, task);
  } else if (access.version != any_version && access.version != version_of(datum)) {
    records_.front().fail(Error{
        ErrorCode::bad_argument,
        fmt::format("'{}' reads version {} of {}, but the tasks submitted on rank {} since the last wait write it {} "
                    "times: name the number of writes before the access",
                    task.name,
                    access.version,
                    name_of(datum),
                    self_.value(),
                    datum.version)});
  }
}

void Values::select_elsewhere(const AccessNote& access, const KindName& task) {
  Datum& datum = *access.datum;
  const std::uint32_t last = version_of(datum);
  const auto refuse = [&](const std::string& why) {
    records_.front().fail(Error{ErrorCode::bad_argument,
                                fmt::format("'{}' on rank {} reads {}, which rank {} owns, {}",
                                            task.name,
                                            self_.value(),
                                            name_of(datum),
                                            datum.owner.value(),
                                            why)});
  };
  if (access.version == any_version) {
    refuse("without its version: this rank submits its own tasks only, so name it, as in r(data, 1)");
  }
  if (access.version < last) {
    refuse(
        fmt::format("in version {} after version {}: submit tasks in the order of the program", access.version, last));
  }
  const bool has_copy = datum.local && datum.local->current != nullptr;
  if (access.version > last) {
    datum.version = access.version;
    datum.is_received = false;
    if (has_copy) {
      retire(datum.local->current);
    }
  } else if (datum.is_received && !has_copy) {
    refuse(fmt::format("in version {}, whose copy has been flushed: flush it after its last use", last));
  }
}

// ---- values on their way ----

void Values::bring(Datum& datum, Rank to, int priority) {
  if (datum.holder == self_) {
    throw_if_no_value(datum, "read");
  }
  if (datum.holder == to) {
    return;
  }
  if (datum.holder == self_) {
    send_to(datum, {&to, 1}, priority);
    return;
  }
  if (to != self_) {
    return;
  }
  LocalDatum& local = local_of(datum);
  if (local.current == nullptr) {
    local.current = datum.owner == self_ ? local.home : &new_copy(datum);
    (void)version_of(datum);
    receive(*local.current, {.rank = datum.holder, .tag = tag_of(datum), .comm = comm_}, priority);
    list_copy(datum);
    datum.is_received = true;
    if (transfers_ != nullptr) {
      transfers_->reads({datum.holder, tag_of(datum)});
    }
  }
}

void Values::send_to(Datum& datum, std::span<const Rank> ranks, int priority) {
  throw_if_no_value(datum, "sent");
  (void)version_of(datum);
  std::vector<Rank> lacking;
  for (const Rank rank : ranks) {
    if (rank != self_ && mark_sent(datum, rank)) {
      lacking.push_back(rank);
      if (transfers_ != nullptr) {
        transfers_->sends({rank, tag_of(datum)});
      }
    }
  }
  if (!lacking.empty()) {
    send(datum, *datum.local->current, lacking, priority);
  }
}

/// Returns whether the rank has not been sent the value before.
bool Values::mark_sent(Datum& datum, Rank to) {
  LocalDatum& local = *datum.local;
  if (local.sent_epoch != epoch_) {
    forget_sent(local);  // a rank that is to get it again cannot join what it has joined before
    local.sent_epoch = epoch_;
    local.sent.assign(rank_count_ / bits + 1, 0);
  }
  std::uint64_t& word = local.sent[to.value() / bits];
  const std::uint64_t bit = std::uint64_t{1} << to.value() % bits;
  return (std::exchange(word, word | bit) & bit) == 0;
}

void Values::send(Datum& datum, Place& place, std::span<const Rank> ranks, int priority) {
  std::vector<comm::Destination> destinations;
  for (const Rank rank : ranks) {
    destinations.push_back(
        {.rank = rank, .priority = static_cast<std::int16_t>(std::clamp(priority, -32'768, 32'767))});
  }
  if (&place == datum.local->current && join_transfer(*datum.local, destinations)) {
    return;
  }
  const std::size_t together = fanout_ == Fanout::single_messages ? 1 : destinations.size();
  for (std::size_t first = 0; first < destinations.size(); first += together) {
    post(datum, place, std::span{destinations}.subspan(first, together), priority);
  }
}

void Values::post(Datum& datum, Place& place, std::span<const comm::Destination> destinations, int priority) {
  Record& record = records_.make(Part::send, send_kind, priority);
  record.message.destinations.assign(destinations.begin(), destinations.end());
  record.message.address = {.rank = destinations.front().rank, .tag = tag_of(datum), .comm = comm_};
  attach(record, place, Mode::read);
  if (&place == datum.local->current) {
    datum.local->transfer = {.record = &record, .serial = record.serial};
  }
  records_.begin(record);
}

/// Ranks that are named before the value is ready share one message.
bool Values::join_transfer(LocalDatum& local, std::span<const comm::Destination> destinations) const {
  if (local.transfer.record == nullptr || fanout_ == Fanout::single_messages) {
    return false;
  }
  Record& transfer = *local.transfer.record;
  const std::lock_guard lock{transfer.lock};
  if (transfer.serial != local.transfer.serial || transfer.has_ended || transfer.is_posted) {
    return false;
  }
  std::ranges::copy(destinations, std::back_inserter(transfer.message.destinations));
  return true;
}

/// Two records: one writes the place and ends when the data is there, one reads it until it is not passed on any more.
void Values::receive(Place& place, const comm::Address& from, int priority) {
  Record& record = records_.make(Part::receive, receive_kind, priority);
  Record& rest = records_.make(Part::passing_on, receive_kind, priority);
  record.partner = &rest;
  rest.partner = &record;
  record.message.address = from;
  attach(record, place, Mode::write);
  place.users.fetch_add(1, std::memory_order_relaxed);  // the datum's own count is still there
  rest.uses.push_back({.place = &place, .mode = Mode::read});
  note_reader(place, {.record = &rest, .serial = rest.serial});
  if (place.is_copy) {
    records_.take_memory(record, place);
  }
  records_.begin(rest);
  records_.begin(record);
}

// ---- places ----

/// Commuting tasks come after what the first of them came after, and exclude one another.
void Values::attach(Record& record, Place& place, Mode mode, Datum* datum) {
  place.users.fetch_add(1, std::memory_order_relaxed);  // the datum's own count is still there
  record.uses.push_back({.place = &place, .mode = mode, .datum = datum});
  record.gates.emplace_back();
  switch (mode) {
    case Mode::read:
      depend_on_all(record, place.writers);
      note_reader(place, name_of(record));
      break;
    case Mode::later:
      record.gates.back() = gate_after(place.writers);
      note_reader(place, name_of(record));
      break;
    case Mode::write:
    case Mode::read_write:
      depend_on_all(record, place.writers);
      depend_on_all(record, place.readers);
      place.before.clear();
      place.readers.clear();
      place.writers.assign(1, name_of(record));
      place.is_commuting = false;
      break;
    case Mode::commute:
    case Mode::reduce:
      if (!place.is_commuting || !place.readers.empty()) {
        append(place.before, place.writers);
        append(place.before, place.readers);
        place.is_commuting = true;
      }
      depend_on_all(record, place.before);
      std::erase_if(place.writers, is_over);
      place.writers.push_back(name_of(record));
      if (!record.claims) {
        record.claims = std::make_unique<std::vector<Claim>>();
      }
      record.claims->emplace_back(&place.exclusion);
      record.has_claims = true;
      break;
  }
}

/// Something to be awaited, as a task does not wait for it before it starts.
RecordName Values::gate_after(std::vector<RecordName>& earlier) {
  Record& gate = records_.make(Part::gate, gate_kind, 0);
  depend_on_all(gate, earlier);
  const RecordName name = name_of(gate);
  records_.begin(gate);
  return name;
}

/// A datum that is read for ever must not keep a list of all that have read it.
void Values::note_reader(Place& place, const RecordName& reader) {
  if (place.readers.size() >= place.readers_looked_at) {
    std::erase_if(place.readers, is_over);
    place.readers_looked_at = std::max<std::size_t>(16, 2 * place.readers.size());
  }
  place.readers.push_back(reader);
}

void Values::retire(Place*& place) noexcept {
  if (Place* const retired = std::exchange(place, nullptr); retired != nullptr && retired->is_copy) {
    records_.memory().leave(*retired);
  }
}

/// A copy that does not come from elsewhere.
Place& Values::new_writable_copy(Datum& datum) {
  Place& place = new_copy(datum);
  Record& gate = records_.make(Part::gate, memory_kind, 0);
  attach(gate, place, Mode::write);
  records_.take_memory(gate, place);
  records_.begin(gate);
  return place;
}

/// Where this rank may write the datum, whatever is there.
Place& Values::writable(Datum& datum) {
  LocalDatum& local = local_of(datum);
  if (local.current == nullptr) {
    local.current = datum.owner == self_ ? local.home : &new_writable_copy(datum);
    list_copy(datum);
  }
  return *local.current;
}

void Values::list_copy(Datum& datum) {
  if (!std::exchange(datum.local->is_listed, true)) {
    copies_.push_back(&datum);
  }
}

void Values::use_in_task(Record& task, Datum& datum, Mode mode) {
  attach(task, mode == Mode::write ? writable(datum) : *datum.local->current, mode, &datum);
}

void Values::written(Datum& datum, Rank by) {
  if (transfers_ != nullptr && datum.owner != self_) {
    return;  // only the owner sees all tasks that write it; others name the version that they read
  }
  ++version_of(datum);
  datum.is_written = true;
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
    retire(datum.local->current);
  }
}

void Values::go_home(Datum& datum) {
  const Rank holder = datum.holder;
  if (holder == datum.owner) {
    return;
  }
  bring(datum, datum.owner, 0);
  datum.holder = datum.owner;
  if (holder == self_) {
    forget_sent(*datum.local);
    retire(datum.local->current);
  } else if (datum.owner == self_) {
    forget_sent(*datum.local);
    datum.local->has_value = true;
  }
}

void Values::flush(Datum& datum) {
  end_reduction(datum);
  go_home(datum);
  if (datum.local) {
    forget_sent(*datum.local);
    if (datum.holder != self_) {
      retire(datum.local->current);
    }
  }
}

void Values::drop_copy(Datum& datum) {
  if (datum.owner != self_ && datum.local) {
    retire(datum.local->current);
    datum.local.reset();
  }
}

void Values::flush_all() {
  for (Datum* const datum : std::exchange(reducing_, {})) {
    datum->is_listed_as_reducing = false;
    end_reduction(*datum);
  }
  for (Datum* const datum : std::exchange(away_, {})) {
    datum->is_away = false;
    go_home(*datum);
  }
  for (Datum* const datum : std::exchange(copies_, {})) {
    if (datum->local) {  // not dropped since
      datum->local->is_listed = false;
      if (datum->owner != self_) {
        retire(datum->local->current);
      }
    }
  }
  ++epoch_;
}

void Values::forget(Datum& datum) noexcept {
  if (datum.local) {
    retire(datum.local->current);
    retire(datum.local->partial);
  }
}

// ---- reductions ----

/// Ranks that do not hold the value add to a copy of their own.
void Values::contribute(Record* task, Datum& datum, Rank executes) {
  if (!datum.reduction) {
    records_.front().fail(
        Error{ErrorCode::bad_argument,
              fmt::format("{} is reduced, but has no rule: call reduces_with() on every rank", name_of(datum))});
  }
  if (!std::exchange(datum.is_reducing, true)) {
    if (!std::exchange(datum.is_listed_as_reducing, true)) {
      reducing_.push_back(&datum);
    }
    ++version_of(datum);
    datum.is_written = true;
    if (datum.local) {
      forget_sent(*datum.local);
      if (datum.holder != self_) {
        retire(datum.local->current);
      }
    }
  }
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

void Values::set_neutral(Datum& datum, Place& place) {
  Record& task = records_.make(Part::task, neutral_kind, 0);
  attach(task, place, Mode::write);
  task.kernel.emplace(static_cast<const Reduction*>(datum.reduction.get()));
  task.call = [](Record& record, TaskContext& /*context*/) {
    record.kernel.get<const Reduction*>()->set_neutral(record.bytes_of(0));
  };
  records_.begin(task);
}

void Values::end_reduction(Datum& datum) {
  if (!std::exchange(datum.is_reducing, false)) {
    return;
  }
  ++version_of(datum);
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
    send(datum, *local.partial, {&datum.holder, 1}, 0);
    retire(local.partial);
  }
}

void Values::combine(Datum& datum, Rank contributor) {
  Place* contribution = &new_copy(datum);
  receive(*contribution, {.rank = contributor, .tag = tag_of(datum), .comm = comm_}, 0);
  Record& task = records_.make(Part::task, combine_kind, 0);
  records_.count(task);
  attach(task, *datum.local->current, Mode::read_write);
  attach(task, *contribution, Mode::read);
  task.kernel.emplace(static_cast<const Reduction*>(datum.reduction.get()));
  task.call = [](Record& record, TaskContext& /*context*/) {
    record.kernel.get<const Reduction*>()->combine(record.bytes_of(0), record.bytes_of(1));
  };
  records_.begin(task);
  retire(contribution);
}

}  // namespace plait::task::detail
