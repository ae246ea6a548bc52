// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plait/plait.hpp"

#include "pic/problem.hpp"

namespace pic {

/// A patch as an element of a collection: it sends the particles that leave it to the patches where they are now, and
/// takes those that come.
///
/// Its particles move with it between ranks. The tiles of fields, currents and charges do not: they are filled anew in
/// each step, by `TileLender`.
template <int D>
class MovingPatch {
 public:
  MovingPatch() = default;
  explicit MovingPatch(Patch<D> patch) : patch_{std::move(patch)} {}

  [[nodiscard]] const Patch<D>& patch() const noexcept { return patch_; }
  [[nodiscard]] Patch<D>& patch() noexcept { return patch_; }
  /// Makes the tiles, after it has come from another rank.
  void make_tiles(const Physics<D>& physics) {
    Patch<D> fresh{patch_.cells, physics};
    std::swap(patch_.fields, fresh.fields);
    std::swap(patch_.current, fresh.current);
    std::swap(patch_.charge, fresh.charge);
  }

  /// Moves all particles by step `step`. Leaves currents in the patch.
  void move(plait::data::Turn& turn, const Problem<D>& problem, const Division<D>& patches, std::uint64_t step) {
    leavers_.clear();
    move_particles(problem, patch_, step, leavers_);
    steps_done_ = step + 1;
    const auto self = static_cast<std::int32_t>(turn.id().value());
    for (Departure<D>& departure : by_part<D>(leavers_, patches)) {
      if (departure.part == self) {
        pic::take<D>(patch_, departure.particles);  // through a periodic border and back into the same patch
      } else {
        turn.send<&MovingPatch::take>(
            plait::data::ElementId{static_cast<std::uint64_t>(departure.part)}, step, std::move(departure.particles));
      }
    }
    pic::take<D>(patch_, early_);
    early_.clear();
  }
  /// Particles that have made step `step` elsewhere: they wait until this patch has made it too.
  void take(std::uint64_t step, std::vector<Migrant<D>> arrivals) {
    if (steps_done_ == step + 1) {
      pic::take<D>(patch_, arrivals);
    } else {
      early_.insert(early_.end(), arrivals.begin(), arrivals.end());
    }
  }
  /// Between steps: nobody is early then.
  template <class Archive>
  void serialize(Archive& archive) {
    archive(patch_.cells, patch_.species, patch_.absorbed, steps_done_);
  }

 private:
  Patch<D> patch_;
  std::uint64_t steps_done_ = 0;
  std::vector<Migrant<D>> early_;
  std::vector<Migrant<D>> leavers_;
};

}  // namespace pic
