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
/// Its particles move with it between ranks. The tiles of fields, currents and charges do not: for each phase it is
/// lent those of its home.
template <int D>
class MovingPatch {
 public:
  MovingPatch() = default;
  explicit MovingPatch(Patch<D> patch) : patch_{std::move(patch)} {
    patch_.fields = {};
    patch_.current = {};
    patch_.charge = {};
  }

  [[nodiscard]] const Patch<D>& patch() const noexcept { return patch_; }

  struct Step {
    const Problem<D>& problem;
    const Division<D>& patches;
    std::uint64_t number;
  };
  /// Moves all particles by a step, with the tiles of `lent`, where the currents are then.
  void move(plait::data::ElementContext& context, Patch<D>& lent, const Step& step) {
    const Loan loan{patch_, lent};
    leavers_.clear();
    move_particles(step.problem, patch_, step.number, leavers_);
    steps_done_ = step.number + 1;
    const auto self = static_cast<std::int32_t>(context.id().value());
    for (Departure<D>& departure : by_part<D>(leavers_, step.patches)) {
      if (departure.part == self) {
        pic::take<D>(patch_, departure.particles);  // through a periodic border and back into the same patch
      } else {
        context.send<&MovingPatch::take>(plait::data::ElementId{static_cast<std::uint64_t>(departure.part)},
                                         step.number,
                                         std::move(departure.particles));
      }
    }
    pic::take<D>(patch_, early_);
    early_.clear();
  }
  /// A new patch has made so many steps, and had absorbed so many.
  void go_on(std::uint64_t steps_done, std::uint64_t absorbed) {
    steps_done_ = steps_done;
    patch_.absorbed += absorbed;
    pic::take<D>(patch_, early_);
    early_.clear();
  }
  void deposit_charge(Patch<D>& lent, const Physics<D>& physics) {
    const Loan loan{patch_, lent};
    pic::deposit_charge(patch_, physics);
  }
  /// Particles that have made step `step` elsewhere: they wait until this patch has made it too.
  void take(std::uint64_t step, std::vector<Migrant<D>> arrivals) {
    if (steps_done_ == step + 1) {
      pic::take<D>(patch_, arrivals);
    } else {
      early_.insert(early_.end(), arrivals.begin(), arrivals.end());
    }
  }
  /// Between steps: no particle is early then.
  template <class Archive>
  void serialize(Archive& archive) {
    archive(patch_.cells, patch_.species, patch_.absorbed, steps_done_);
  }

 private:
  /// The patch has the lent tiles while this lives; nothing is copied.
  class Loan {
   public:
    Loan(Patch<D>& patch, Patch<D>& lent) : patch_{patch}, lent_{lent} { exchange(); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { exchange(); }

   private:
    void exchange() noexcept {
      std::swap(patch_.fields, lent_.fields);
      std::swap(patch_.current, lent_.current);
      std::swap(patch_.charge, lent_.charge);
    }
    Patch<D>& patch_;
    Patch<D>& lent_;
  };

  Patch<D> patch_;
  std::uint64_t steps_done_ = 0;
  std::vector<Migrant<D>> early_;
  std::vector<Migrant<D>> leavers_;
};

}  // namespace pic
