// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/spin_lock.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/detail/kernel_storage.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/flow/detail/datum.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task::detail {

/// The kind of a record. `gate` ends when the records that it waits for have ended. `passing_on` ends when the endpoint
/// no longer forwards a received buffer to other ranks.
enum class Part : std::uint8_t { task, send, receive, passing_on, gate };

class Records;
struct Record;

/// The message of a record, as its endpoint completes it.
struct RecordMessage final : comm::Completion {
  explicit RecordMessage(Record& its_record) : record{its_record} {}
  void completed(const comm::Status& status) noexcept override;
  void released(const comm::Status& status) noexcept override;

  Record& record;
  comm::Address address;
  std::vector<comm::Destination> destinations;
};

/// A place that a record uses.
struct Use {
  Place* place = nullptr;
  Mode mode = Mode::read;
  Datum* datum = nullptr;
  std::uint64_t checksum = 0;
  std::uint32_t readers_begun = 0;  ///< Of the place, when this one began.
  bool was_alone = false;
};

/// A task, a message, or a step towards one on this rank. Reused when it has ended.
struct Record final : Node {
  explicit Record(Records& its_records) : Node{TaskKind{0}}, records{its_records} {}

  Records& records;
  Part part = Part::task;
  std::int16_t urgency_of_messages = 0;
  bool is_counted = false;  ///< Among the tasks that the window bounds.

  // Order. `waits` counts what must end first, and 1 until it is submitted.
  SpinLock lock;
  bool has_ended = true;       ///< Under the lock, as are the next two. True in the pool.
  bool is_posted = false;      ///< Of a send: no rank may join it any more.
  std::uint64_t serial = 0;    ///< Another one each time it is taken from the pool.
  std::vector<Record*> later;  ///< What waits for this one; while it has not ended, under the lock.
  std::vector<Use> uses;

  // Of a task: what it does.
  void (*call)(Record&, TaskContext&) = nullptr;
  KernelStorage<128> kernel;
  std::coroutine_handle<> coroutine;  ///< While it has not returned.
  std::vector<RecordName> gates;      ///< Of data that come later, by access; nothing for the others.

  // Of a message.
  RecordMessage message{*this};
  Record* partner = nullptr;  ///< Of a receive: what ends when its buffer is released; and the other way round.

  [[nodiscard]] std::span<std::byte> bytes_of(std::size_t use) const {
    return {uses[use].place->memory, uses[use].place->bytes};
  }
};

}  // namespace plait::task::detail
