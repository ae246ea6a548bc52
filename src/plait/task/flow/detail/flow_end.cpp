// SPDX-License-Identifier: Apache-2.0
// What happens to records once they may start. Any worker's thread.
#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/task/flow/coroutine.hpp"
#include "plait/task/flow/detail/flow_engine.hpp"

namespace plait::task::detail {

namespace {

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

}  // namespace

// ---- starting ----

/// `record` waits for nothing any more. Without a sink: the submitting thread.
void FlowEngine::hand_over(Record& record, ReadySink* sink) noexcept {
  switch (record.part) {
    case Part::task:
      if (record.coroutine) {  // it goes on
        if (sink != nullptr) {
          sink->again(record);
        } else {
          run_->expect_end(record);
          run_->ready(record);
        }
        break;
      }
      in_motion_.fetch_add(1, std::memory_order_relaxed);  // what makes it ready still counts
      sink != nullptr ? sink->ready(record) : run_->ready(record);
      break;
    case Part::send:
      in_motion_.fetch_add(1, std::memory_order_relaxed);  // as above
      post_send(record);
      break;
    case Part::receive:
      in_motion_.fetch_add(2, std::memory_order_relaxed);  // as above; with its partner
      post_receive(record);
      break;
    case Part::passing_on:
      break;
    case Part::gate:
      in_motion_.fetch_add(1, std::memory_order_relaxed);  // as above
      end(record, sink);
      break;
  }
}

void FlowEngine::post_send(Record& record) noexcept {
  {
    const std::lock_guard lock{record.lock};
    record.is_posted = true;
  }
  const std::span<const std::byte> data = record.bytes_of(0);
  messages_sent_.fetch_add(1, std::memory_order_relaxed);  // a statistic, as are the next
  ranks_sent_to_.fetch_add(record.destinations.size(), std::memory_order_relaxed);
  bytes_sent_.fetch_add(record.destinations.size() * data.size(), std::memory_order_relaxed);
  try {
    if (record.destinations.size() == 1) {
      (void)endpoint_.send(
          record.address, data, {.priority = record.urgency_of_messages, .completion = &record.message});
    } else {
      (void)endpoint_.multicast(record.destinations,
                                record.address.tag,
                                data,
                                {.priority = record.urgency_of_messages, .completion = &record.message},
                                record.address.comm);
    }
  } catch (const Error& error) {
    run_->fail(error);
  }
}

void FlowEngine::post_receive(Record& record) noexcept {
  try {
    (void)endpoint_.receive(record.address, record.bytes_of(0), &record.partner->message);
  } catch (const Error& error) {
    run_->fail(error);
  }
}

void FlowEngine::has_arrived(Record& record, const comm::Status& status) noexcept {
  const std::size_t bytes = record.uses.front().place->bytes;
  if (status.error || status.bytes != bytes) {
    run_->fail(
        Error{status.error.value_or(ErrorCode::bad_argument),
              fmt::format("rank {} expected {} bytes of a datum from rank {}, but {} came: do all ranks make the "
                          "same data in the same order?",
                          self_.value(),
                          bytes,
                          status.source.value(),
                          status.bytes),
              status.source});
    return;
  }
  messages_received_.fetch_add(1, std::memory_order_relaxed);  // a statistic
  run_->has_ended(record);
}

// ---- executing ----

void FlowEngine::execute(Record& record, TaskContext& context) {
  if (!record.coroutine) {
    if (checks_reads_) {
      begin_reading(record);
    }
    record.call(record, context);
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
    end_reading(record);
  }
}

void FlowEngine::begin_reading(Record& record) {
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

void FlowEngine::end_reading(Record& record) {
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
                      self_.value(),
                      was_alone ? "" : ", or another that ran beside it,",
                      name_of(*use.datum))};
    }
  }
}

// ---- ending ----

void FlowEngine::ended(Node& node, ReadySink& sink) noexcept {
  auto& record = static_cast<Record&>(node);
  if (record.coroutine) {  // it waits for something; who comes last, that or this, lets it go on
    if (record.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with end(), and RequestAwaiter::ended()
      sink.again(record);
    }
    return;
  }
  end(record, &sink);
}

void FlowEngine::end(Record& record, ReadySink* sink) noexcept {
  {
    const std::lock_guard lock{record.lock};
    record.has_ended = true;
  }
  for (Record* const later : record.later) {  // nobody adds any more
    // Acquires what all that it waited for has written.
    if (later->waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      hand_over(*later, sink);
    }
  }
  record.later.clear();
  if (record.kernel_place != nullptr) {
    record.destroy(record);
    record.kernel_place = nullptr;
  }
  for (const Use& use : record.uses) {
    leave(*use.place);
  }
  record.uses.clear();
  record.gates.clear();
  record.claims.reset();
  record.has_claims = false;
  if (record.is_counted) {
    ended_tasks_.fetch_add(1, std::memory_order_relaxed);  // to judge what is near, and a statistic
  }
  pool_.give(record);
  give_memory(sink);
  in_motion_.fetch_sub(1, std::memory_order_release);   // with throw_if_memory_blocks()
  unfinished_.fetch_sub(1, std::memory_order_release);  // with unfinished()
}

void FlowEngine::give_memory(ReadySink* sink) noexcept {
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
  FlowEngine& engine = task_.engine;
  task_.waits.store(2, std::memory_order_relaxed);  // as in resume_after(); published by has_ended()
  event_.role = Role::event;
  event_.ending = this;
  event_.label = task_.label;
  engine.expect_end(event_);
  // As soon as this is said, another thread may act on it; but the coroutine goes on only after this turn has ended.
  if (!comm::Request{request_}.then_unless_complete(
          [&engine, event = &event_](const comm::Status&) { engine.has_ended(*event); })) {
    engine.has_ended(event_);
  }
}

void RequestAwaiter::ended(Node& /*node*/, ReadySink& sink) noexcept {
  Record& task = task_;
  if (task.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with FlowEngine::ended()
    sink.again(task);                                             // and this may be gone
  }
}

}  // namespace plait::task::detail
