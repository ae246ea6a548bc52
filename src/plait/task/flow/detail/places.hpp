// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plait/task/flow/detail/datum.hpp"
#include "plait/task/flow/detail/record.hpp"

namespace plait::task::detail {

class Records;

/// In which order the records of this rank use places. Threads: the submitting one.
class Places {
 public:
  explicit Places(Records& records) noexcept : records_{records} {}

  /// Has `record` use `place`: after the last writer if it reads; after it and the readers since if it writes; in any
  /// order with those that commute beside it, but one at a time.
  void attach(Record& record, Place& place, Mode mode, Datum* datum = nullptr);
  /// Notes one that reads, and comes after nothing.
  void note_reader(Place& place, const RecordName& reader);
  /// The datum gives the place out no more.
  void retire(Place*& place) noexcept;

 private:
  [[nodiscard]] RecordName gate_after(std::vector<RecordName>& earlier);

  Records& records_;
};

}  // namespace plait::task::detail
