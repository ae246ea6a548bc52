// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "plait/data/collections/element.hpp"

namespace plait::data {

/// How the next value of a load is predicted.
enum class Forecast : std::uint8_t {
  last,    ///< The last value: for loads that change slowly and are measured well.
  median,  ///< The median of the window: ignores a phase that the machine disturbed.
  trend,   ///< The next point of the least-squares line through the window, at least 0: for loads that grow.
};

/// Predicts the value after `values`, which are oldest first. Returns 0 for none, and the only one for one.
[[nodiscard]] double forecast_of(std::span<const double> values, Forecast forecast);

struct LoadModelOptions {
  Forecast forecast = Forecast::last;
  std::uint32_t window = 5;  ///< Number of phases stored; at least 1.
};

/// The loads of one rank's elements, and of the rank itself, in the last phases.
///
/// The history of an element moves with it: `take` on the old rank, `give` on the new one. Histories of elements that
/// an observation lacks are deleted. Threads: one at a time.
class LoadModel {
 public:
  /// Throws: `Error` with `bad_argument` for an empty window.
  explicit LoadModel(const LoadModelOptions& options = {});

  struct Load {
    ElementId id;
    double seconds = 0;
  };
  /// Adds a phase. `background`: seconds of this rank that belong to no element, such as the runtime's own work.
  void observe(std::span<const Load> loads, double background);

  /// Predicts the seconds of the next phase; 0 for an unknown element.
  [[nodiscard]] double load(ElementId id) const;
  [[nodiscard]] double background() const;
  /// The number of phases stored, at most `window`.
  [[nodiscard]] std::size_t phases() const noexcept { return background_.size(); }

  /// Removes the values of an element, and returns them, oldest first.
  [[nodiscard]] std::vector<double> take(ElementId id);
  void give(ElementId id, std::span<const double> values);

 private:
  struct History {
    std::vector<double> values;
    std::uint64_t seen = 0;  ///< The last observation that had it.
  };
  void push(std::vector<double>& values, double value) const;

  LoadModelOptions options_;
  std::unordered_map<ElementId, History> histories_;
  std::vector<double> background_;
  std::uint64_t observations_ = 0;
};

}  // namespace plait::data
