// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "plait/base/clock.hpp"
#include "plait/base/executor.hpp"

namespace plait::simulate {

/// What tasks cost on the virtual clock.
struct TaskCostSettings {
  /// Time of a task by the name of its kind. Tasks of other kinds run, and cost their time on this machine, or
  /// `other_kinds`.
  std::map<std::string, nanoseconds, std::less<>> kinds;
  /// Time of a task of another kind; its body runs. Nothing: such tasks are measured.
  std::optional<nanoseconds> other_kinds;
  /// Whether bodies of the kinds above run.
  BodyUse bodies = BodyUse::runs;
  /// Factor from measured times on this machine to times of the simulated one; above 0.
  double scale = 1;
  /// Added to each task: what the runtime takes of a worker between two tasks.
  nanoseconds overhead{0};
};

/// Decides which bodies run, and computes what tasks cost.
class TaskCosts {
 public:
  /// Throws: `Error` with `bad_argument` for a negative time or a factor that is not above 0.
  explicit TaskCosts(TaskCostSettings settings);

  [[nodiscard]] bool runs_bodies() const noexcept { return settings_.bodies == BodyUse::runs; }
  /// Whether tasks of this kind have a cost, and are not measured.
  [[nodiscard]] bool is_known(std::string_view kind) const {
    return settings_.other_kinds.has_value() || settings_.kinds.contains(kind);
  }
  [[nodiscard]] double scale() const noexcept { return settings_.scale; }
  /// Calls `body`, and returns what the task costs. `machine`: measures tasks of kinds without a cost. Throws: what
  /// `body` throws.
  nanoseconds execute(std::string_view kind, const std::function<void(BodyUse)>& body, const Clock& machine);

  /// Kinds whose cost was measured, with the number of tasks: their runs are not repeated exactly.
  [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& measured() const noexcept { return measured_; }

 private:
  const TaskCostSettings settings_;
  std::map<std::string, std::uint64_t, std::less<>> measured_;
};

}  // namespace plait::simulate
