// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plait/plait.hpp"

#include "pic/problem.hpp"

namespace pic {

/// A patch as an element of a collection: it sends the particles that leave it to their new patches, and takes those
/// that arrive.
///
/// Its particles migrate with it. The tiles of fields, currents and charges do not: it is lent those of its home for
/// each phase.
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
  /// Moves all particles by a step with the tiles of `lent`, which then have the currents.
  void move(plait::data::ElementContext& context, Patch<D>& lent, const Step& step) {
    const Loan loan{patch_, lent};
    leavers_.clear();
    step.problem.move_particles(patch_, step.number, leavers_);
    steps_done_ = step.number + 1;
    const auto self = static_cast<std::int32_t>(context.id().value());
    for (Departure<D>& departure : by_part<D>(leavers_, step.patches)) {
      if (departure.part == self) {
        patch_.take(departure.particles);  // through a periodic border and back into the same patch
      } else {
        context.send<&MovingPatch::take>(plait::data::ElementId{static_cast<std::uint64_t>(departure.part)},
                                         step.number,
                                         std::move(departure.particles));
      }
    }
    patch_.take(early_);
    early_.clear();
  }
  /// Sets the steps and the absorbed particles of a new patch.
  void go_on(std::uint64_t steps_done, std::uint64_t absorbed) {
    steps_done_ = steps_done;
    patch_.absorbed += absorbed;
    patch_.take(early_);
    early_.clear();
  }
  void deposit_charge(Patch<D>& lent, const Physics<D>& physics) {
    const Loan loan{patch_, lent};
    patch_.deposit_charge(physics);
  }
  /// Takes particles that have made step `step` elsewhere. They wait until this patch has made it too.
  void take(std::uint64_t step, std::vector<Migrant<D>> arrivals) {
    if (steps_done_ == step + 1) {
      patch_.take(arrivals);
    } else {
      early_.insert(early_.end(), arrivals.begin(), arrivals.end());
    }
  }
  /// Between steps, when no particle is early.
  template <class Archive>
  void serialize(Archive& archive) {
    archive(patch_, steps_done_);
  }

 private:
  /// Gives the patch the lent tiles for a scope, without a copy.
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
