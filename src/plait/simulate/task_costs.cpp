// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/task_costs.hpp"

#include <algorithm>
#include <utility>

#include "plait/base/error.hpp"

namespace plait::simulate {

TaskCosts::TaskCosts(TaskCostSettings settings) : settings_{std::move(settings)} {
  require(settings_.scale > 0, "costs of tasks: the scale must be above 0");
  require(settings_.overhead >= nanoseconds{0} && settings_.other_kinds.value_or(nanoseconds{0}) >= nanoseconds{0} &&
              std::ranges::all_of(settings_.kinds, [](const auto& kind) { return kind.second >= nanoseconds{0}; }),
          "costs of tasks: no time can be negative");
}

nanoseconds TaskCosts::execute(std::string_view kind, const std::function<void(BodyUse)>& body, const Clock& machine) {
  if (const auto known = settings_.kinds.find(kind); known != settings_.kinds.end()) {
    body(settings_.bodies);
    return known->second + settings_.overhead;
  }
  if (settings_.other_kinds) {
    body(BodyUse::runs);
    return *settings_.other_kinds + settings_.overhead;
  }
  const nanoseconds start = machine.now();
  body(BodyUse::runs);
  const auto took = static_cast<double>((machine.now() - start).count());
  auto count = measured_.find(kind);
  if (count == measured_.end()) {
    count = measured_.emplace(kind, 0).first;
  }
  ++count->second;
  return nanoseconds{static_cast<nanoseconds::rep>(took * settings_.scale)} + settings_.overhead;
}

}  // namespace plait::simulate
