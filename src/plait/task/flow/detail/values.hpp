// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/comm/address.hpp"
#include "plait/task/flow/detail/datum.hpp"
#include "plait/task/flow/detail/records.hpp"
#include "plait/task/flow/options.hpp"

namespace plait::task::detail {

/// Tracks the holders of values, and infers messages, the order of records and reductions from submissions. Equal on
/// every rank after the same submissions, but for `Datum::local`. Threads: the submitting one.
class Values {
 public:
  Values(Records& records, Rank self, std::uint32_t rank_count, comm::CommId comm, Fanout fanout) noexcept
      : records_{records}, self_{self}, rank_count_{rank_count}, comm_{comm}, fanout_{fanout} {}

  [[nodiscard]] static LocalDatum& local_of(Datum& datum);
  /// Sends the current value to rank `to` unless it has it.
  void bring(Datum& datum, Rank to, int priority);
  /// Adds an access of `task`, of this rank, to the current value.
  void use_in_task(Record& task, Datum& datum, Mode mode);
  /// Notes that rank `by` computes a new value.
  void written(Datum& datum, Rank by);
  /// Adds a contribution of a task on rank `executes`; `task` is null on other ranks.
  void contribute(Record* task, Datum& datum, Rank executes);
  /// Sends contributions, if any, to the holder, which combines them in the order of the ranks.
  void end_reduction(Datum& datum);
  /// Sends the value to its owner, and drops the copies.
  void flush(Datum& datum);
  void flush_all();
  /// Releases the memory of a datum on this rank.
  void forget(Datum& datum) noexcept;

 private:
  void attach(Record& record, Place& place, Mode mode, Datum* datum = nullptr);
  void note_reader(Place& place, const RecordName& reader);
  [[nodiscard]] RecordName gate_after(std::vector<RecordName>& earlier);
  void retire(Place*& place) noexcept;
  void throw_if_no_value(const Datum& datum, const char* wish);
  void send(Datum& datum, Place& place, Rank to, int priority);
  [[nodiscard]] bool join_transfer(LocalDatum& local, const comm::Destination& destination) const;
  void receive(Place& place, const comm::Address& from, int priority);
  [[nodiscard]] Place& new_writable_copy(Datum& datum);
  [[nodiscard]] Place& writable(Datum& datum);
  void list_copy(Datum& datum);
  void set_neutral(Datum& datum, Place& place);
  void combine(Datum& datum, Rank contributor);
  void go_home(Datum& datum);

  Records& records_;
  const Rank self_;
  const std::uint32_t rank_count_;
  const comm::CommId comm_;
  const Fanout fanout_;
  std::vector<Datum*> away_;      ///< Whose holder is perhaps not the owner.
  std::vector<Datum*> reducing_;  ///< That perhaps have contributions.
  std::vector<Datum*> copies_;    ///< That perhaps have a copy here.
  std::uint64_t epoch_ = 1;       ///< Counts waits: what was sent before one must be sent again after it.
};

}  // namespace plait::task::detail
