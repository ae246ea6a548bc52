// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/places.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "plait/task/flow/detail/records.hpp"

namespace plait::task::detail {

namespace {

constexpr KindName gate_kind{.name = "later", .hash = hash_of("later")};

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

}  // namespace

/// Commuting tasks come after what the first of them came after, and exclude one another.
void Places::attach(Record& record, Place& place, Mode mode, Datum* datum) {
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
RecordName Places::gate_after(std::vector<RecordName>& earlier) {
  Record& gate = records_.make(Part::gate, gate_kind, 0);
  depend_on_all(gate, earlier);
  const RecordName name = name_of(gate);
  records_.begin(gate);
  return name;
}

/// A datum that is read for ever must not keep a list of all that have read it.
void Places::note_reader(Place& place, const RecordName& reader) {
  if (place.readers.size() >= place.readers_looked_at) {
    std::erase_if(place.readers, is_over);
    place.readers_looked_at = std::max<std::size_t>(16, 2 * place.readers.size());
  }
  place.readers.push_back(reader);
}

void Places::retire(Place*& place) noexcept {
  if (Place* const retired = std::exchange(place, nullptr); retired != nullptr && retired->is_copy) {
    records_.memory().leave(*retired);
  }
}

}  // namespace plait::task::detail
