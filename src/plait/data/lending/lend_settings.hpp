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

/// A piece of the parent's data, in the parent's memory, and the element that it belongs to.
template <class Piece>
struct OwnPiece {
  ElementId id;
  Piece* piece;
};

/// What a lender is made of.
template <class Piece>
struct LendSettings {
  /// The rank of an element's piece: the same answer on all ranks, and always. No rank: the element has none.
  std::function<Rank(ElementId)> parent_of;
  /// One for each element whose parent is this rank; borrowed, at the same address for the life of the lender.
  std::vector<OwnPiece<Piece>> pieces;
  /// Makes the piece that an element away from its parent uses; called once each time that it moves there. May point to
  /// an object of a class derived from `Piece`, with the memory that a piece of views needs.
  std::function<std::shared_ptr<Piece>(ElementId)> make_copy;
};

/// What a lender has done on this rank since it was made.
struct LendTotals {
  std::uint64_t wrapped = 0;  ///< Pieces of elements on their parent's rank, each time they were lent.
  std::uint64_t sent = 0;     ///< Pieces that left as a copy, in either direction.
  std::uint64_t bytes = 0;    ///< Of these.
  std::uint64_t settled = 0;  ///< How often elements had moved since the time before.
};

}  // namespace plait::data
