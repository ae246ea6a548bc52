// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/field_lists.hpp"

#include <algorithm>

namespace plait::particles::detail {
namespace {

void add(std::vector<AnyField>& fields, const AnyField& field) {
  if (!has_field(fields, field)) {
    fields.push_back(field);
  }
}

/// What the stages from `first` on read of neighbours.
std::vector<AnyField> read_from(const StepPlan& plan, std::size_t first) {
  std::vector<AnyField> fields;
  for (const Stage& stage : std::span{plan.stages}.subspan(first)) {
    if (stage.reads_neighbours && plan.cells.reach) {
      add(fields, *plan.cells.reach);
    }
    for (const AnyField& field : stage.reads) {
      add(fields, field);
    }
  }
  return fields;
}

/// Adds the fields that both lists have.
void add_common(std::vector<AnyField>& fields, std::span<const AnyField> some, std::span<const AnyField> others) {
  for (const AnyField& field : some) {
    if (has_field(others, field)) {
      add(fields, field);
    }
  }
}

}  // namespace

bool has_field(std::span<const AnyField> fields, const AnyField& field) {
  return std::ranges::any_of(fields, [&](const AnyField& other) { return other.column == field.column; });
}

std::vector<AnyField> fields_of_ghosts(const StepPlan& plan, const StepFields& fields, const AnyField& reach) {
  std::vector<AnyField> all{Particles::position, Particles::kind, reach, fields.bin_seen};
  for (const AnyField& field : read_from(plan, 0)) {
    add(all, field);
  }
  return all;
}

std::vector<AnyField> fields_after_drift(const StepPlan& plan, const StepFields& fields, const AnyField& reach) {
  if (std::ranges::none_of(plan.stages, [](const Stage& stage) { return stage.reads_neighbours; })) {
    return {};
  }
  std::vector<AnyField> all{Particles::position, reach, fields.bin_seen};
  const std::vector<AnyField> read = read_from(plan, 0);
  add_common(all, plan.integrator.predicted, read);
  for (const Stage& stage : plan.stages) {
    add_common(all, stage.writes, read);
  }
  return all;
}

std::vector<AnyField> fields_after_stage(const StepPlan& plan, std::size_t stage) {
  std::vector<AnyField> all;
  add_common(all, plan.stages[stage].writes, read_from(plan, stage + 1));
  return all;
}

}  // namespace plait::particles::detail
