// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/task/resource.hpp"

namespace plait::task::detail {

class FlowEngine;
struct Record;

/// How a task accesses a datum. `later`: reads it when a coroutine awaits it.
enum class Mode : std::uint8_t { read, later, write, read_write, commute, reduce };

[[nodiscard]] constexpr bool only_reads(Mode mode) noexcept {
  return mode == Mode::read || mode == Mode::later;
}

/// Identifies a use of a record, which is reused under another serial number when it has ended.
struct RecordName {
  Record* record = nullptr;
  std::uint64_t serial = 0;
};

/// Memory of a datum on this rank, and the records that use it. The lists belong to the submitting thread.
struct Place {
  std::byte* memory = nullptr;  ///< Of a copy: nothing until it is taken.
  std::size_t bytes = 0;
  bool is_copy = false;      ///< Counts as memory of the flow, and is freed after its last use.
  std::uint32_t number = 0;  ///< In traces, from 1; 0 until it is first recorded.

  std::vector<RecordName> writers;     ///< The last writer, or the last commuting ones.
  std::vector<RecordName> readers;     ///< Since then.
  std::vector<RecordName> before;      ///< What the commuting ones came after.
  std::size_t readers_looked_at = 16;  ///< How many readers are worth looking for ended ones.
  bool is_commuting = false;
  Resource exclusion;  ///< Of commuting tasks.

  std::atomic<std::uint32_t> users = 1;  ///< Records that have not ended, and 1 while the datum may still give it out.

  // For finding who writes what it may only read.
  std::atomic<std::uint32_t> readers_inside = 0;
  std::atomic<std::uint32_t> readers_begun = 0;
};

/// How contributions to a datum are combined.
struct Reduction {
  std::function<void(std::span<std::byte>)> set_neutral;
  std::function<void(std::span<std::byte>, std::span<const std::byte>)> combine;
};

/// The state of a datum that this rank owns, holds, has a copy of, or contributes to.
struct LocalDatum {
  Place* home = nullptr;     ///< The owner's.
  Place* current = nullptr;  ///< Where the present value is; nothing when it is elsewhere.
  Place* partial = nullptr;  ///< What this rank adds up, away from the holder.
  bool has_value = false;    ///< Of the holder.
  bool is_listed = false;    ///< Among those that have a copy here.
  std::uint64_t sent_epoch = 0;
  std::vector<std::uint64_t> sent;  ///< A bit a rank: has been sent the present value, if `sent_epoch` is the present.
  RecordName transfer;              ///< Of the present value: more ranks may join it until it is posted.
  std::vector<Rank> contributors;   ///< Others that add to it; the holder's list.
};

/// A datum on every rank. All but `local` is equal on every rank after the same submissions.
struct Datum {
  Datum(FlowEngine& its_engine, std::uint32_t its_id, Rank its_owner)
      : engine{&its_engine}, id{its_id}, owner{its_owner} {}
  Datum(const Datum&) = delete;
  Datum& operator=(const Datum&) = delete;
  ~Datum() = default;

  FlowEngine* engine;
  std::uint32_t id;
  Rank owner;
  Rank holder = owner;  ///< Where the present value was made.
  std::uint32_t version = 0;
  bool is_reducing = false;  ///< There are contributions that have not been put together.
  bool is_away = false;      ///< Among those that may have to go home.
  bool is_listed_as_reducing = false;
  std::unique_ptr<LocalDatum> local;

  std::size_t bytes = 0;
  std::unique_ptr<Reduction> reduction;
  const std::string* collection = nullptr;  ///< Its name, if it is a piece of one.
  std::uint32_t row = 0;
  std::uint32_t column = 0;
};

/// One access of a submitted task.
struct AccessNote {
  Datum* datum;
  Mode mode;
};

}  // namespace plait::task::detail
