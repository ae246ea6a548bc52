// SPDX-License-Identifier: Apache-2.0
#include "sph/program/copies.hpp"

#include <numeric>
#include <utility>
#include <vector>

namespace sph {

namespace {

namespace data = plait::data;
using plait::particles::SavedSteps;

constexpr const char* particles_name = "particles";
constexpr const char* type_name = "particles of a rank";
constexpr const char* place_key = "place";
constexpr const char* ranks_key = "ranks";

/// `RunPlace` as bytes.
struct SavedPlace {
  double time = 0;
  std::uint64_t step = 0;
  Totals begin;
  ProblemOptions options;
  double begin_of_run = 0;
  std::uint32_t snapshots = 0;
  plait::particles::StepLengths lengths = {};
  double begin_of_steps = 0;
  double end_of_steps = 0;
  std::uint64_t ticks = 0;
  std::vector<double> cuts;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(time, step, begin, options, begin_of_run, snapshots, lengths, begin_of_steps, end_of_steps, ticks, cuts);
  }
};

SavedPlace saved(const RunPlace& place) {
  const RunState& state = place.state;
  const SavedSteps& steps = state.steps.value();
  return {.time = state.time,
          .step = state.step,
          .begin = state.begin,
          .options = state.options,
          .begin_of_run = place.begin,
          .snapshots = place.snapshots,
          .lengths = steps.lengths,
          .begin_of_steps = steps.begin,
          .end_of_steps = steps.end,
          .ticks = steps.now,
          .cuts = steps.cuts};
}

RunPlace restored(const SavedPlace& place) {
  SavedSteps steps;
  steps.lengths = place.lengths;
  steps.begin = place.begin_of_steps;
  steps.end = place.end_of_steps;
  steps.now = place.ticks;
  steps.count = place.step;
  steps.cuts = place.cuts;
  return {.state = {.time = place.time,
                    .step = place.step,
                    .begin = place.begin,
                    .steps = std::move(steps),
                    .options = place.options},
          .begin = place.begin_of_run,
          .snapshots = place.snapshots};
}

}  // namespace

data::Checkpoint checkpoint_of(const Particles& store,
                               const RunPlace& place,
                               const plait::Runtime& runtime,
                               const app::Description& description) {
  data::Checkpoint checkpoint{.program = "plait-sph", .step = place.state.step, .values = {}, .collections = {}};
  for (const auto& [key, text] : description) {
    checkpoint.values[key] = text;
  }
  checkpoint.values[ranks_key] = std::uint64_t{runtime.rank_count()};
  checkpoint.values[place_key] = data::pack(saved(place));
  std::vector<Particles::Index> all(store.size());
  std::iota(all.begin(), all.end(), Particles::Index{0});
  plait::Bytes bytes;
  store.pack(all, bytes);
  data::PackedElements packed;
  packed.collection = particles_name;
  packed.type = type_name;
  packed.add(data::ElementId{runtime.self().value()}, bytes);
  checkpoint.collections.push_back(std::move(packed));
  return checkpoint;
}

RunPlace go_on(const data::Checkpoint& checkpoint, Particles& store, const StateFields& fields, std::uint32_t ranks) {
  store.clear();
  const data::PackedElements& packed = checkpoint.elements(particles_name, type_name, data::Shape{});
  for (std::size_t i = 0; i < packed.count(); ++i) {
    store.unpack(packed.element(i));
  }
  RunPlace place = restored(data::unpack_as<SavedPlace>(checkpoint.value<plait::Bytes>(place_key)));
  if (checkpoint.value<std::uint64_t>(ranks_key) != ranks) {
    place.state.steps.reset();
    forget_state(fields);
  }
  return place;
}

}  // namespace sph
