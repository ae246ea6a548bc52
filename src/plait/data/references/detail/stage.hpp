// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "plait/base/spin_lock.hpp"
#include "plait/base/type_name.hpp"

namespace plait::data::detail {

struct Job;

/// The place of a value; it lives as long as any of its stages. `CellOf` has the value itself.
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

/// How a deferred task accesses a value; `wait`: is called when it is there, and does not see it.
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

/// A value between two modifications. One reference, or one job, at a time has the right to make the next stage of it;
/// any number may pin it, for reading. The next one is made when this one is made and not pinned any more.
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
};

inline void hold(Stage& stage) noexcept {
  stage.holders.fetch_add(1, std::memory_order_relaxed);  // the caller holds it
}
void drop(Stage& stage) noexcept;

void pin(Stage& stage) noexcept;
/// Returns a job that waited for this last, and may start: the caller's to start; or null.
[[nodiscard]] Job* unpin(Stage& stage) noexcept;
/// The value is there. Returns the jobs that may start, linked by `Job::next_ready`.
[[nodiscard]] Job* make(Stage& stage) noexcept;
/// Has the use's job wait for what it needs, if that is not there yet. The job must not have been launched.
void attach(Use& use) noexcept;
/// Takes the use out of its stage's lists: its job will never start.
void forget(const Use& use) noexcept;

/// Whether `mode` is possible now.
[[nodiscard]] bool is_free(Stage& stage, Mode mode) noexcept;

/// What the destructor of a reference does: `start`s what waited for a pin.
void release(Stage& stage, bool is_pinned) noexcept;

}  // namespace plait::data::detail
