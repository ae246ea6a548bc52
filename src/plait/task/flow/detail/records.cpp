// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/records.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/task/flow/coroutine.hpp"

namespace plait::task::detail {

namespace {

constexpr int described_max = 20;

bool has_checks([[maybe_unused]] ReadChecks wish) {
#ifdef PLAIT_CHECKS
  return wish != ReadChecks::never;
#else
  return wish == ReadChecks::always;
#endif
}

/// Of 8 bytes at a time; a changed byte changes it.
std::uint64_t checksum(const std::byte* memory, std::size_t bytes) {
  std::uint64_t sum = bytes;
  for (std::size_t at = 0; at < bytes; at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory + at, std::min(sizeof word, bytes - at));
    sum = (sum ^ word) * 0x9e37'79b9'7f4a'7c15U;
    sum ^= sum >> 32U;
  }
  return sum;
}

/// Notes a checksum of all data that the task reads. Any worker.
void begin_reading(Record& record) {
  for (Use& use : record.uses) {
    if (use.mode != Mode::read || use.datum == nullptr) {
      continue;
    }
    // Hints for the sentence that names who has written.
    use.was_alone = use.place->readers_inside.fetch_add(1, std::memory_order_relaxed) == 0;
    use.readers_begun = use.place->readers_begun.fetch_add(1, std::memory_order_relaxed) + 1;
    use.checksum = checksum(use.place->memory, use.place->bytes);
  }
}

/// Throws: `Error` with `user_task` when data that the task only reads has changed.
void end_reading(Record& record, Rank self) {
  for (const Use& use : record.uses) {
    if (use.mode != Mode::read || use.datum == nullptr) {
      continue;
    }
    const bool was_alone =
        use.was_alone && use.place->readers_begun.load(std::memory_order_relaxed) == use.readers_begun;
    use.place->readers_inside.fetch_sub(1, std::memory_order_relaxed);
    if (checksum(use.place->memory, use.place->bytes) != use.checksum) {
      throw Error{
          ErrorCode::user_task,
          fmt::format("task '{}' on rank {}{} has written {}, which it declared as only read: declare it rw(), or "
                      "do not write it",
                      record.label->name,
                      self.value(),
                      was_alone ? "" : ", or another that ran beside it,",
                      name_of(*use.datum))};
    }
  }
}

}  // namespace

void RecordMessage::completed(const comm::Status& status) noexcept {
  if (record.part == Part::passing_on) {
    record.records.has_arrived(*record.partner, status);
  }
}

void RecordMessage::released(const comm::Status& /*status*/) noexcept {
  record.records.front().run().has_ended(record);
}

Records::Records(comm::Endpoint& endpoint,
                 Scheduler& scheduler,
                 trace::Recorder& recorder,
                 const FlowOptions& options,
                 comm::CommId comm)
    : endpoint_{endpoint},
      comm_{comm},
      checks_reads_{has_checks(options.read_checks)},
      recorder_{recorder},
      trace_{recorder.thread(WorkerId{}, fmt::format("flow {:#x}", comm.value()))},
      kinds_{recorder},
      memory_{options.copy_bytes_max, std::max<std::uint64_t>(options.receive_ahead, 1)},
      front_{scheduler, "flow", options.window, [this] { return describe_waiting(); }} {}

void Records::drop_all() noexcept {
  front_.abandon();
  for (const auto& record : all_) {
    if (record->coroutine) {
      record->coroutine.destroy();
    }
    record->kernel.reset();
    for (const Use& use : record->uses) {  // of a failed run
      memory_.leave(*use.place);
    }
  }
}

// ---- submission ----

Record& Records::make(Part part, const KindName& kind, int priority) {
  if (free_ == nullptr) {
    free_ = given_back_.take_all();
  }
  if (free_ == nullptr) {
    Record& made = *all_.emplace_back(std::make_unique<Record>(*this));
    made.body = [&made](TaskContext& context) { made.records.execute(made, context); };
    made.ending = this;
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
  record.caused_by = 0;
  record.waits.store(1, std::memory_order_relaxed);  // published when the record is handed over
  record.label = &kinds_.label(kind);
  record.weight_ns = static_cast<decltype(record.weight_ns)>(priority);
  record.urgency_of_messages = static_cast<std::int16_t>(std::clamp(priority, -32'768, 32'767));
  return record;
}

void Records::begin(Record& record) {
  front_.begin();
  if (record.part != Part::gate) {
    front_.run().expect_end(record);
    if (trace_.is_on() && record.part != Part::passing_on) {
      trace(record);
    }
  }
  if (record.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with end()
    hand_over(record, nullptr);
  }
}

/// Writes what orders a record: whatever ended before it was submitted is no longer in any list.
void Records::trace(const Record& record) {
  accesses_.clear();
  for (const Use& use : record.uses) {
    std::uint32_t& number = use.place->number;
    number = number != 0 ? number : ++places_in_trace_;
    const bool is_alone = use.mode == Mode::commute || use.mode == Mode::reduce;
    accesses_.push_back(number << 2U | (only_reads(use.mode) ? 0U : is_alone ? 2U : 1U));
  }
  const bool is_message = record.part != Part::task;
  trace_.flow_task({.role = record.part == Part::send      ? trace::TaskRole::send
                            : record.part == Part::receive ? trace::TaskRole::receive
                                                           : trace::TaskRole::compute,
                    .communicator = comm_.value(),
                    .id = front_.run().id_of(record),
                    .submitted = recorder_.now(),
                    .tag = is_message ? record.message.address.tag : Tag{},
                    .priority = static_cast<std::int64_t>(record.weight_ns),
                    .accesses = accesses_});
}

void Records::count(Record& task) noexcept {
  ++task_count_;
  task.is_counted = true;
}

void Records::take_memory(Record& record, Place& place) {
  record.waits.fetch_add(1, std::memory_order_relaxed);  // 1 is still kept for begin()
  memory_.ask(record, place, task_count_);
  give_memory(nullptr);
}

/// Expects: this thread adds no task.
void Records::throw_if_memory_blocks() {
  if (front_.is_moving() || !memory_.is_asked()) {
    return;
  }
  give_memory(nullptr);
  if (!front_.is_moving() && memory_.is_asked()) {
    throw Error{
        ErrorCode::out_of_memory,
        fmt::format("copies of other ranks' data may take {} bytes on rank {}, but its next task needs {}: raise "
                    "copy_bytes_max, or flush data that is not read any more",
                    memory_.bytes_max(),
                    endpoint_.self().value(),
                    memory_.bytes_needed())};
  }
}

FlowStatistics Records::statistics() const {
  const auto [copy_bytes, copy_bytes_peak] = memory_.usage();
  return {.executed = ended_tasks_.load(std::memory_order_relaxed),
          .messages_sent = messages_sent_.load(std::memory_order_relaxed),
          .ranks_sent_to = ranks_sent_to_.load(std::memory_order_relaxed),
          .bytes_sent = bytes_sent_.load(std::memory_order_relaxed),
          .messages_received = messages_received_.load(std::memory_order_relaxed),
          .records_peak = all_.size(),
          .copy_bytes = copy_bytes,
          .copy_bytes_peak = copy_bytes_peak};
}

std::vector<Transfer> Records::missing() const {
  std::vector<Transfer> missing;
  for (const auto& record : all_) {
    const std::lock_guard lock{record->lock};
    if (!record->has_ended && record->part == Part::receive) {
      missing.push_back({record->message.address.rank, record->message.address.tag});
    }
  }
  return missing;
}

std::string Records::describe_waiting() const {
  std::string text;
  int count = 0;
  for (const auto& record : all_) {
    {
      const std::lock_guard lock{record->lock};
      if (record->has_ended || record->part == Part::gate || record->part == Part::passing_on) {
        continue;
      }
    }
    if (++count > described_max) {
      return text + ", ...";
    }
    text += count > 1 ? ", " : "";
    text += record->label->name;
    const std::uint32_t waits = record->waits.load(std::memory_order_relaxed);
    if (waits > 0) {
      text += fmt::format(" (for {} others)", waits);
    } else if (record->part == Part::receive) {
      text += fmt::format(" (from rank {})", record->message.address.rank.value());
    }
  }
  return count > 0 ? text : "the other ranks' ends of wait()";
}

// ---- starting ----

/// `record` waits for nothing any more. Without a sink: the submitting thread.
void Records::hand_over(Record& record, ReadySink* sink) noexcept {
  switch (record.part) {
    case Part::task:
      if (record.coroutine) {  // it goes on
        if (sink != nullptr) {
          sink->again(record);
        } else {
          front_.run().expect_end(record);
          front_.run().ready(record);
        }
        break;
      }
      front_.move();
      sink != nullptr ? sink->ready(record) : front_.run().ready(record);
      break;
    case Part::send:
      front_.move();
      post_send(record);
      break;
    case Part::receive:
      front_.move(2);  // with its partner
      post_receive(record);
      break;
    case Part::passing_on:
      break;
    case Part::gate:
      front_.move();
      end(record, sink);
      break;
  }
}

void Records::post_send(Record& record) noexcept {
  {
    const std::lock_guard lock{record.lock};
    record.is_posted = true;
  }
  const std::span<const std::byte> data = record.bytes_of(0);
  messages_sent_.fetch_add(1, std::memory_order_relaxed);  // a statistic, as are the next
  ranks_sent_to_.fetch_add(record.message.destinations.size(), std::memory_order_relaxed);
  bytes_sent_.fetch_add(record.message.destinations.size() * data.size(), std::memory_order_relaxed);
  try {
    if (record.message.destinations.size() == 1) {
      (void)endpoint_.send(
          record.message.address, data, {.priority = record.urgency_of_messages, .completion = &record.message});
    } else {
      (void)endpoint_.multicast(record.message.destinations,
                                record.message.address.tag,
                                data,
                                {.priority = record.urgency_of_messages, .completion = &record.message},
                                record.message.address.comm);
    }
  } catch (const Error& error) {
    front_.run().fail(error);
  }
}

void Records::post_receive(Record& record) noexcept {
  try {
    (void)endpoint_.receive(record.message.address, record.bytes_of(0), &record.partner->message);
  } catch (const Error& error) {
    front_.run().fail(error);
  }
}

void Records::has_arrived(Record& record, const comm::Status& status) noexcept {
  const std::size_t bytes = record.uses.front().place->bytes;
  if (status.error || status.bytes != bytes) {
    front_.run().fail(
        Error{status.error.value_or(ErrorCode::bad_argument),
              fmt::format("rank {} expected {} bytes of a datum from rank {}, but {} came: do all ranks make the "
                          "same data in the same order?",
                          endpoint_.self().value(),
                          bytes,
                          status.source.value(),
                          status.bytes),
              status.source});
    return;
  }
  messages_received_.fetch_add(1, std::memory_order_relaxed);  // a statistic
  front_.run().has_ended(record);
}

// ---- executing ----

void Records::execute(Record& record, TaskContext& context) {
  if (!record.coroutine) {
    if (checks_reads_) {
      begin_reading(record);
    }
    if (context.body_use() == BodyUse::runs) {
      record.call(record, context);
    }
  }
  if (record.coroutine) {
    record.coroutine.resume();
    if (!record.coroutine.done()) {
      return;
    }
    const auto handle = std::coroutine_handle<Coroutine::promise_type>::from_address(
        std::exchange(record.coroutine, nullptr).address());
    const std::exception_ptr exception = std::move(handle.promise().exception);
    handle.destroy();
    if (exception) {
      std::rethrow_exception(exception);
    }
  }
  if (checks_reads_) {
    end_reading(record, endpoint_.self());
  }
}

// ---- ending ----

void Records::ended(Node& node, ReadySink& sink) noexcept {
  auto& record = static_cast<Record&>(node);
  if (record.coroutine) {  // it waits for something; who comes last, that or this, lets it go on
    if (record.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with end(), and RequestAwaiter::ended()
      sink.again(record);
    }
    return;
  }
  end(record, &sink);
}

void Records::end(Record& record, ReadySink* sink) noexcept {
  {
    const std::lock_guard lock{record.lock};
    record.has_ended = true;
  }
  for (Record* const later : record.later) {  // no thread adds any more
    // Acquires what all that it waited for has written.
    if (later->waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      hand_over(*later, sink);
    }
  }
  record.later.clear();
  record.kernel.reset();
  for (const Use& use : record.uses) {
    memory_.leave(*use.place);
  }
  record.uses.clear();
  record.gates.clear();
  record.claims.reset();
  record.has_claims = false;
  if (record.is_counted) {
    ended_tasks_.fetch_add(1, std::memory_order_relaxed);  // to judge what is near, and a statistic
  }
  given_back_.push(record);
  give_memory(sink);
  front_.rest();
  front_.end();
}

void Records::give_memory(ReadySink* sink) noexcept {
  if (!memory_.is_asked()) {
    return;
  }
  while (Record* const record = memory_.give(ended_tasks_.load(std::memory_order_relaxed))) {  // a hint
    if (record->waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      hand_over(*record, sink);
    }
  }
}

// ---- coroutines ----

bool resume_after(Record& task, const RecordName& event) {
  task.waits.store(2, std::memory_order_relaxed);  // the event, and the end of this turn; published by the lock
  const std::lock_guard lock{event.record->lock};
  if (event.record->serial != event.serial || event.record->has_ended) {
    return false;
  }
  event.record->later.push_back(&task);
  return true;
}

void RequestAwaiter::await_suspend(std::coroutine_handle<> /*caller*/) {
  OpenRun& run = task_.records.front().run();
  task_.waits.store(2, std::memory_order_relaxed);  // as in resume_after(); published by has_ended()
  event_.role = Role::event;
  event_.ending = this;
  event_.label = task_.label;
  run.expect_end(event_);
  // From here on, another thread may act on it; but the coroutine goes on only after this turn has ended.
  if (!comm::Request{request_}.then_unless_complete(
          [&run, event = &event_](const comm::Status&) { run.has_ended(*event); })) {
    run.has_ended(event_);
  }
}

void RequestAwaiter::ended(Node& /*node*/, ReadySink& sink) noexcept {
  Record& task = task_;
  if (task.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with Records::ended()
    sink.again(task);                                             // and this may be gone
  }
}

}  // namespace plait::task::detail
