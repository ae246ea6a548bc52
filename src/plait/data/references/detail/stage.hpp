// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plait/base/spin_lock.hpp"
#include "plait/base/type_name.hpp"

namespace plait::data::detail {

struct Job;

/// The memory of a value, which lives as long as any of its stages. `CellOf` has the value itself.
struct Cell {
  SpinLock lock;                          ///< Of its stages' lists and counts.
  std::atomic<std::uint32_t> stages = 0;  ///< That live.
  std::string_view type;
  void (*destroy)(Cell&) noexcept = nullptr;
};

template <class T>
struct CellOf final : Cell {
  CellOf() {
    type = type_name<T>();
    destroy = [](Cell& cell) noexcept { delete static_cast<CellOf*>(&cell); };
  }
  std::optional<T> value;  ///< Nothing until it is made.
};

/// How a deferred task accesses a value; `wait`: not at all, but it waits for it.
enum class Mode : std::uint8_t { wait, read, modify };

struct Stage;

/// One argument of a job.
struct Use {
  Stage* stage = nullptr;       ///< Held; when it is read, pinned, too.
  Stage* next_stage = nullptr;  ///< Of what is modified: held.
  Job* job = nullptr;
  Use* next = nullptr;  ///< Among those that wait for the stage.
  Mode mode = Mode::wait;
};

/// A value between two modifications. One reference or job at a time may create its next stage; any number may pin it
/// for reading. The next stage is computed when this one is computed and no longer pinned.
///
/// Threads: any.
struct Stage {
  explicit Stage(Cell& its_cell) : cell{its_cell} {
    cell.stages.fetch_add(1, std::memory_order_relaxed);  // its maker holds the cell
  }

  Cell& cell;
  std::atomic<std::uint32_t> holders = 1;
  // Under the cell's lock:
  bool is_made = false;
  std::uint32_t pins = 0;
  Use* waiting = nullptr;   ///< That want it to be made.
  Use* modifier = nullptr;  ///< That wants it to be made and not pinned.
  // Also, when tasks are recorded, tasks in traces:
  std::uint64_t made_by = 0;
  std::vector<std::uint64_t> read_by;
};

inline void hold(Stage& stage) noexcept {
  stage.holders.fetch_add(1, std::memory_order_relaxed);  // the caller holds it
}
void drop(Stage& stage) noexcept;

void pin(Stage& stage) noexcept;
/// Returns the job that may start now, which the caller starts; or null.
[[nodiscard]] Job* unpin(Stage& stage) noexcept;
/// Notes that the value is computed. Returns the jobs that may start, linked by `Job::next_ready`.
[[nodiscard]] Job* make(Stage& stage) noexcept;
/// Lets the job of a use wait for its stage if necessary. Expects: the job was not launched.
void attach(Use& use) noexcept;
/// Removes a use from the lists of its stage: its job will never start.
void forget(const Use& use) noexcept;

/// Returns whether `mode` is possible now.
[[nodiscard]] bool is_free(Stage& stage, Mode mode) noexcept;

/// Releases the stage of a reference, and starts the job that waited for its pin, if any.
void release(Stage& stage, bool is_pinned) noexcept;

}  // namespace plait::data::detail
