// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/comm/address.hpp"
#include "plait/task/flow/detail/datum.hpp"
#include "plait/task/flow/detail/records.hpp"
#include "plait/task/flow/detail/transfer_check.hpp"
#include "plait/task/flow/options.hpp"

namespace plait::task::detail {

/// Tracks the holders of values, and infers messages, the order of records and reductions from submissions. Equal on
/// every rank after the same submissions, but for `Datum::local`. Threads: the submitting one.
class Values {
 public:
  /// `transfers`: of a flow of own tasks, else null. Borrows its arguments.
  Values(Records& records,
         const comm::Endpoint& endpoint,
         comm::CommId comm,
         Fanout fanout,
         TransferCheck* transfers) noexcept
      : records_{records},
        self_{endpoint.self()},
        rank_count_{endpoint.rank_count()},
        comm_{comm},
        fanout_{fanout},
        transfers_{transfers} {}

  [[nodiscard]] static LocalDatum& local_of(Datum& datum);
  /// Returns how often tasks have written the datum since the last wait; reductions count, too.
  [[nodiscard]] std::uint32_t& version_of(Datum& datum) const noexcept;
  /// Checks the version that an access names against the tasks submitted. In a flow of own tasks, another rank's datum
  /// has that version from now on. `task`: for errors.
  void select(const AccessNote& access, const KindName& task);
  /// Sends the current value, which this rank holds, to those of `ranks` that have not been sent it.
  void send_to(Datum& datum, std::span<const Rank> ranks, int priority);
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
  /// Drops this rank's copy, in a flow of own tasks.
  void drop_copy(Datum& datum);
  void flush_all();
  /// Releases the memory of a datum on this rank.
  void forget(Datum& datum) noexcept;

 private:
  void attach(Record& record, Place& place, Mode mode, Datum* datum = nullptr);
  void note_reader(Place& place, const RecordName& reader);
  [[nodiscard]] RecordName gate_after(std::vector<RecordName>& earlier);
  void retire(Place*& place) noexcept;
  void throw_if_no_value(const Datum& datum, const char* wish);
  [[nodiscard]] bool mark_sent(Datum& datum, Rank to);
  void send(Datum& datum, Place& place, std::span<const Rank> ranks, int priority);
  void post(Datum& datum, Place& place, std::span<const comm::Destination> destinations, int priority);
  void select_elsewhere(const AccessNote& access, const KindName& task);
  [[nodiscard]] bool join_transfer(LocalDatum& local, std::span<const comm::Destination> destinations) const;
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
  TransferCheck* const transfers_;
  std::uint32_t epoch_ = 1;  ///< Counts waits: what was sent before one must be sent again after it.
};

}  // namespace plait::task::detail
