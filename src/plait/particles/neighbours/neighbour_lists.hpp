// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "plait/particles/interaction.hpp"
#include "plait/particles/neighbours/short_range.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

/// Which particles are neighbours.
struct NeighbourOptions {
  Search search = Search::gather;
  /// One radius for all particles, or the field of each particle's. This distance itself is within.
  std::variant<double, Field<float>, Field<double>> radius = 0.0;
  Kinds targets;                  ///< The particles that get a list; those of others are empty.
  Kinds sources;                  ///< The particles that are in lists.
  std::vector<AnyField> travels;  ///< The fields that copies of other ranks' particles have, beside position and id.
};

/// The neighbours of each particle of a rank, among the particles of all ranks; created by
/// `System::add_neighbour_lists`.
///
/// Each step and update finds them anew, at the positions of its sums. Lists are complete from `System::when_summed`
/// on, and valid until the next step or until the store changes. A neighbour is in a list once, by its nearest image,
/// also where several images are near. A particle is not its own neighbour; others at the same position are. Distances
/// are those of positions in double precision. Threads: any may read between steps.
class NeighbourLists : public Interaction {
 public:
  using Index = Particles::Index;

  /// The list of the particle at `place`: ascending, each the place of a particle of this rank or, from the size of the
  /// store on, that size plus a place in `imported`. Expects: `place` is in the store.
  [[nodiscard]] std::span<const Index> neighbours(std::size_t place) const {
    return indices().subspan(offsets()[place], offsets()[place + 1] - offsets()[place]);
  }
  /// All lists: that of place i is `indices()` from `offsets()[i]` to `offsets()[i + 1]`. There is one more offset than
  /// particles; before the first step there are none.
  [[nodiscard]] virtual std::span<const std::size_t> offsets() const noexcept = 0;
  [[nodiscard]] virtual std::span<const Index> indices() const noexcept = 0;
  /// Copies of other ranks' particles: those in lists, and others near them.
  [[nodiscard]] virtual const Particles& imported() const noexcept = 0;

  /// The value of the particle at an index of a list. Expects: the field is position, id, or travels.
  template <class T>
  [[nodiscard]] const T& value(Field<T> field, Index index) const {
    const std::size_t own = store().size();
    return index < own ? store()[field][index] : imported()[field][index - own];
  }

 private:
  [[nodiscard]] virtual const Particles& store() const noexcept = 0;
};

/// Creates an interaction that finds neighbours. Adds a field to `store`, which it borrows. `tree` as of
/// `make_short_range_sums`. Throws: `Error` with `bad_argument` if the radius for all is negative or not finite. A step
/// throws the same for a particle's radius.
[[nodiscard]] std::unique_ptr<NeighbourLists> make_neighbour_lists(Particles& store,
                                                                   NeighbourOptions options,
                                                                   const Tree* tree);

}  // namespace plait::particles
