// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "plait/data/collections/element.hpp"

namespace plait::data {

/// Delays each element of a phase until its data has arrived, and is notified when it has ended its steps. `Lender` is
/// a gate.
///
/// Threads: the thread that starts the phase calls `begin_phase`, `is_open` and `enter`; any worker calls `leave`.
class PhaseGate {
 public:
  PhaseGate() = default;
  PhaseGate(const PhaseGate&) = delete;
  PhaseGate& operator=(const PhaseGate&) = delete;

  /// Begins a phase on this rank. `placement`: the current `Elements::placement_version`. Throws: `Error` to refuse it.
  virtual void begin_phase(std::uint64_t placement) = 0;
  /// Returns whether the element may begin its first step.
  [[nodiscard]] virtual bool is_open(ElementId id) = 0;
  /// As `is_open`. If false, the gate calls `open`, which is short, once as soon as it is true, from any thread.
  [[nodiscard]] virtual bool enter(ElementId id, std::function<void()> open) = 0;
  /// Notifies that the element has ended its last step of the phase, or was erased. Throws: `Error`, which ends the
  /// run.
  virtual void leave(ElementId id) = 0;

 protected:
  ~PhaseGate() = default;
};

}  // namespace plait::data
