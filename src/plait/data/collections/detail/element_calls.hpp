// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/data/collections/detail/news.hpp"
#include "plait/data/collections/detail/phase_control.hpp"
#include "plait/data/collections/detail/places.hpp"
#include "plait/data/collections/phase_gate.hpp"
#include "plait/data/collections/report.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data::detail {

/// Executes the steps and messages of elements in a phase.
///
/// One worker at a time executes an element; its mailbox records whether any does. Short elements are executed in
/// batches of some 10 us, as a task costs ten times as much as the shortest call. Threads: that of the collection for
/// `adopt`, `begin` and reports; any for `wake`; workers for the rest.
class ElementCalls final : public task::detail::Ending {
 public:
  explicit ElementCalls(const EngineParts& parts);

  /// Makes an element a task of this collection.
  void adopt(ElementId id, Element& element);
  /// As above, for an element that is created during a phase: its steps begin with the next one.
  void adopt_in_phase(ElementId id, Element& element);
  /// Submits the elements to the run of the phase. Those that `gate` delays, if it is not null, start when it opens.
  void begin(PhaseWork work, PhaseGate* gate, std::span<Element* const> elements);
  /// Starts an idle element that has mail. `worker`: of the calling task, if any.
  void wake(Element& element, WorkerId worker) noexcept;
  /// Returns the task that `worker` executes, as in traces; 0 when tasks are not recorded.
  [[nodiscard]] std::uint64_t recorded_task(WorkerId worker) const noexcept {
    return workers_[worker.value()].recorded_as;
  }
  void ended(task::detail::Node& node, task::detail::ReadySink& sink) noexcept override;

  /// Returns, after a phase, the error that names elements whose inputs were not sent, if any.
  [[nodiscard]] std::optional<Error> unfinished(std::span<Element* const> elements) const;
  /// Reports, after a phase, the steps and messages of this rank, and releases the functions of the phase.
  void report(PhaseReport& report);
  /// Returns the time of workers for ends of tasks since the last reset. Between phases.
  [[nodiscard]] nanoseconds overhead() const noexcept;
  void reset_overhead() noexcept;

 private:
  struct alignas(64) WorkerState {
    std::uint64_t steps = 0;
    std::uint64_t messages = 0;
    std::uint64_t through = 0;  ///< Elements that have ended all their steps of the phase.
    nanoseconds last_call_end{};
    nanoseconds overhead{};
    Element* rest = nullptr;         ///< Of a batch that has taken too long.
    Element* first_woken = nullptr;  ///< To start when the running task has ended.
    Element* last_woken = nullptr;
    std::uint64_t recorded_as = 0;       ///< The task that it executes.
    std::vector<std::uint64_t> earlier;  ///< Tasks that this one came after.
  };
  class Batches;

  void submit_all(std::span<Element* const> elements);
  void submit_through_gate(std::span<Element* const> elements);
  void execute(Element& first, WorkerId worker);
  void call(Element& element, ElementContext& context, WorkerState& state);
  /// `needs_mail`: it was executed for its messages.
  void take_mail(Element& element, ElementContext& context, WorkerState& state, bool needs_mail);
  void throw_unless_expected(const Element& element, const Mail& input) const;
  void take_step(Element& element, ElementContext& context, WorkerState& state);
  void count_step(Element& element, WorkerState& state);
  void end_erased(Element& element, WorkerState& state);
  void record_order(Element& element, WorkerState& state);
  [[noreturn]] void throw_as_error(const Element& element) const;
  static void let_go(Element& element, WorkerState& state) noexcept;
  static void note_woken(Element& element, WorkerState& state) noexcept;

  const EngineParts& parts_;
  const CollectionInfo& info_;
  PhaseWork work_;
  PhaseGate* gate_ = nullptr;
  std::uint64_t begun_ = 0;  ///< Elements that have steps in the phase.
  std::vector<WorkerState> workers_;
  SpinLock trace_lock_;
  trace::ThreadRecorder& trace_;
};

}  // namespace plait::data::detail
