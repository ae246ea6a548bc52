// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/step_record.hpp"

#include <fmt/format.h>

namespace plait::particles {

StepRecord::StepRecord(trace::Recorder& recorder)
    : recorder_{recorder},
      here_{recorder.name(trace::Role::counter, "particles here")},
      updated_{recorder.name(trace::Role::counter, "particles updated")},
      took_{recorder.name(trace::Role::counter, "step time (ms)")} {
  for (std::size_t phase = 0; phase < phase_count; ++phase) {
    phases_[phase] =
        recorder.name(trace::Role::counter, fmt::format("phase {} (ms)", name_of(static_cast<Phase>(phase))));
  }
}

void StepRecord::note(const Step& step, const PhaseTimes& phases) {
  trace::ThreadRecorder& trace = recorder_.thread(WorkerId{0}, "");
  if (!trace.is_on()) {
    return;
  }
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const nanoseconds now = recorder_.now();
  const auto count = [&](trace::NameId name, double value) {
    trace.counter({.name = name, .time = now, .value = value, .step = step.number});
  };
  count(here_, static_cast<double>(step.particles));
  count(updated_, static_cast<double>(step.updated));
  count(took_, Milliseconds{step.took}.count());
  for (std::size_t phase = 0; phase < phase_count; ++phase) {
    if (phases[phase] > nanoseconds::zero()) {
      count(phases_[phase], Milliseconds{phases[phase]}.count());
    }
  }
}

const char* StepRecord::name_of(Phase phase) noexcept {
  constexpr std::array<const char*, phase_count> names{"decompose",
                                                       "exchange",
                                                       "make tree",
                                                       "make LETs",
                                                       "exchange LETs",
                                                       "walk",
                                                       "kernel",
                                                       "short range",
                                                       "mesh",
                                                       "other"};
  return names[static_cast<std::size_t>(phase)];
}

}  // namespace plait::particles
