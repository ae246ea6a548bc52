// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "plait/data/collections/element.hpp"

namespace plait::data {

/// What the next value of a load is taken to be.
enum class Forecast : std::uint8_t {
  last,    ///< The last one: right when loads change slowly and are measured well.
  median,  ///< The median of the window: a phase in which the machine did something else does not count.
  trend,   ///< The next point of the line through the window (least squares), not below 0: for loads that grow.
};

/// The next value after `values`, oldest first. 0 of none; of one value, that.
[[nodiscard]] double forecast_of(std::span<const double> values, Forecast forecast);

struct LoadModelOptions {
  Forecast forecast = Forecast::last;
  std::uint32_t window = 5;  ///< Phases that are remembered; at least 1.
};

/// The loads of the elements of one rank in the last phases, and of the rank itself.
///
/// What belongs to an element goes with it: `take` here, `give` there. Elements that an observation does not name have
/// gone. Threads: one at a time.
class LoadModel {
 public:
  /// Throws: `Error` with `bad_argument` for an empty window.
  explicit LoadModel(const LoadModelOptions& options = {});

  struct Load {
    ElementId id;
    double seconds = 0;
  };
  /// A phase has ended. `background`: seconds this rank has spent that are no element's: the runtime's own work.
  void observe(std::span<const Load> loads, double background);

  /// Seconds of the next phase; 0 for an element that was never seen.
  [[nodiscard]] double load(ElementId id) const;
  [[nodiscard]] double background() const;
  /// Of the phases so far, the last `window` at most.
  [[nodiscard]] std::size_t phases() const noexcept { return background_.size(); }

  /// The values of an element, oldest first, which are forgotten here.
  [[nodiscard]] std::vector<double> take(ElementId id);
  void give(ElementId id, std::span<const double> values);

 private:
  struct History {
    std::deque<double> values;
    std::uint64_t seen = 0;  ///< The observation that named it last.
  };
  void push(std::deque<double>& values, double value) const;
  [[nodiscard]] double next(const std::deque<double>& values) const;

  LoadModelOptions options_;
  std::unordered_map<ElementId, History> histories_;
  std::deque<double> background_;
  std::uint64_t observations_ = 0;
};

}  // namespace plait::data
