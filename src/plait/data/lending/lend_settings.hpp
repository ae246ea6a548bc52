// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "plait/data/collections/element.hpp"

namespace plait::data {

/// An element and the rank of its piece.
struct ElementPlace {
  ElementId id;
  Rank rank;
};

/// A piece of the parent's data in the parent's memory, and its element.
template <class Piece>
struct OwnPiece {
  ElementId id;
  Piece* piece;
};

/// Settings of a lender.
template <class Piece>
struct LendSettings {
  /// Returns the rank of an element's piece, always the same on all ranks; an invalid rank if it has none.
  std::function<Rank(ElementId)> parent_of;
  /// One piece for each element whose parent is this rank. Borrowed: addresses must not change while the lender lives.
  std::vector<OwnPiece<Piece>> pieces;
  /// Creates the piece for an element away from its parent; called each time that the element arrives there. May return
  /// a class derived from `Piece` that owns the memory of views.
  std::function<std::shared_ptr<Piece>(ElementId)> make_copy;
};

/// Statistics of a lender on this rank since its creation.
struct LendTotals {
  std::uint64_t wrapped = 0;  ///< Pieces of elements on their parent's rank, each time they were lent.
  std::uint64_t sent = 0;     ///< Pieces that were sent, in either direction.
  std::uint64_t bytes = 0;    ///< Of these.
  std::uint64_t settled = 0;  ///< How often ranks exchanged locations of elements.
};

}  // namespace plait::data
