// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/record.hpp"

#include "plait/task/flow/detail/records.hpp"

namespace plait::task::detail {

void RecordMessage::completed(const comm::Status& status) noexcept {
  if (record.part == Part::passing_on) {
    record.records.has_arrived(*record.partner, status);
  }
}

void RecordMessage::released(const comm::Status& /*status*/) noexcept {
  record.records.has_ended(record);
}

Record& RecordPool::take(Records& records, Part part) {
  if (free_ == nullptr) {
    free_ = given_.take_all();
  }
  if (free_ == nullptr) {
    Record& made = *all_.emplace_back(std::make_unique<Record>(records));
    made.body = [&made](TaskContext& context) { made.records.execute(made, context); };
    made.ending = &records;
    free_ = &made;
  }
  auto& record = static_cast<Record&>(*std::exchange(free_, free_->next));
  record.next = nullptr;
  record.part = part;
  record.role = part == Part::task ? Role::compute : Role::event;
  {
    const std::lock_guard lock{record.lock};
    record.has_ended = false;
    record.is_posted = false;
    record.serial = ++serial_;
  }
  record.is_counted = false;
  record.last_worker = {};
  record.cost_ns = 0;
  record.weight_ns = 0;
  record.caused_by = 0;
  record.urgency_of_messages = 0;
  record.waits.store(1, std::memory_order_relaxed);  // published when the record is handed over
  return record;
}

}  // namespace plait::task::detail
