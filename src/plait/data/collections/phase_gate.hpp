// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "plait/data/collections/element.hpp"

namespace plait::data {

/// Holds elements of a phase back, each until its data is there, and learns when each has ended its steps.
///
/// A phase that was started with a gate calls it; `Lender` is one. Threads: `enter` and `begin_phase` are called by the
/// thread that starts the phase, `leave` by any worker.
class PhaseGate {
 public:
  PhaseGate() = default;
  PhaseGate(const PhaseGate&) = delete;
  PhaseGate& operator=(const PhaseGate&) = delete;

  /// A phase begins on this rank. `placement`: `Elements::placement_version` now. Throws: `Error` to refuse the phase.
  virtual void begin_phase(std::uint64_t placement) = 0;
  /// Whether the element may begin its first step.
  [[nodiscard]] virtual bool is_open(ElementId id) = 0;
  /// As `is_open`. When false, the gate calls `open` once, as soon as it is true: from any thread; it is short.
  [[nodiscard]] virtual bool enter(ElementId id, std::function<void()> open) = 0;
  /// The element has ended its last step of the phase, or was erased. Throws: `Error`, which ends the run.
  virtual void leave(ElementId id) = 0;

 protected:
  ~PhaseGate() = default;
};

}  // namespace plait::data
