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
  std::uint32_t sent_epoch = 0;
  std::vector<std::uint64_t> sent;  ///< A bit a rank: has been sent the present value, if `sent_epoch` is the present.
  RecordName transfer;              ///< Of the present value: more ranks may join it until it is posted.
  std::vector<Rank> contributors;   ///< Others that add to it; the holder's list.
};

/// A version of a datum that is not named.
inline constexpr std::uint32_t any_version = 0xffff'ffff;

/// A datum on every rank. All but `local` and `is_received` is equal on every rank after the same submissions. In a
/// flow of own tasks, `version` of a datum of another rank is the one that this rank has read last.
struct Datum {
  Datum(FlowEngine& its_engine, std::uint32_t its_id, Rank its_owner)
      : engine{&its_engine}, id{its_id}, owner{its_owner} {}
  Datum(const Datum&) = delete;
  Datum& operator=(const Datum&) = delete;
  ~Datum() = default;

  FlowEngine* engine;
  std::uint32_t id;
  Rank owner;
  Rank holder = owner;        ///< Where the present value was made.
  std::uint32_t version = 0;  ///< Counts writes in `epoch`. See `Values::version_of`.
  std::uint32_t epoch = 0;
  bool is_written = false;   ///< A task has been submitted that writes it.
  bool is_received = false;  ///< In a flow of own tasks: this rank has received the version.
  bool is_reducing = false;  ///< There are contributions that have not been put together.
  bool is_away = false;      ///< Among those that may have to go home.
  bool is_listed_as_reducing = false;
  std::unique_ptr<LocalDatum> local;

  std::size_t bytes = 0;
  std::unique_ptr<Reduction> reduction;
};

/// One access of a submitted task.
struct AccessNote {
  Datum* datum = nullptr;
  Mode mode = Mode::read;
  std::uint32_t version = any_version;  ///< What the program expects to read.
};

/// Returns the name of a datum in errors: `A(1, 2)`, or its number.
[[nodiscard]] std::string name_of(const Datum& datum);

}  // namespace plait::task::detail
