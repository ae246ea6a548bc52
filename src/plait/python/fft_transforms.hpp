// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "plait/fft/execution.hpp"
#include "plait/fft/plan.hpp"
#include "plait/python/engine.hpp"

namespace plait::python {

/// The options of a plan, as Python has them.
struct TransformSettings {
  std::array<fft::Index, 3> lengths{};
  bool is_real = true;
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  std::string effort;  ///< "estimate", "measure" or "patient".
  std::string variant;
  std::uint32_t pieces = 0;
};

/// A plan, and executions for the arrays that it was last called with. The engine owns both until `close`.
///
/// Threads: those that hold the GIL, one at a time.
class Transforms {
 public:
  /// Collective. Throws: as `fft::Plan`; ValueError for an unknown effort.
  Transforms(std::shared_ptr<Engine> engine, const TransformSettings& settings);

  /// Low and high indices of this rank's part along each axis: spectral space, or physical space.
  [[nodiscard]] std::pair<std::array<fft::Index, 3>, std::array<fft::Index, 3>> box(bool is_spectral) const;
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> grid() const;
  [[nodiscard]] std::string variant() const;
  [[nodiscard]] std::string describe() const;

  /// Transforms each of `from` into the array of `to` with the same place, all at once, and multiplies by `scale`.
  /// Collective; without the GIL. Arrays that were transformed together recently reuse their buffers: the ranks agree
  /// on that by one reduction. Throws: as `Buffer` and `fft::Execution`.
  void run(bool is_forward,
           const std::vector<nanobind::object>& from,
           const std::vector<nanobind::object>& to,
           double scale);
  /// Frees the plan, collectively. Also done at the end of the engine.
  void close();

 private:
  struct State;
  struct Call;
  [[nodiscard]] State& state() const;

  std::shared_ptr<Engine> engine_;
  std::weak_ptr<State> state_;
};

}  // namespace plait::python
