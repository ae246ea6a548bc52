// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/data/accessor.hpp"
#include "plait/data/detail/lend_routes.hpp"
#include "plait/data/element.hpp"

namespace plait::data {

/// A piece of the parent's data, in the parent's memory, and the element that it belongs to.
template <class Piece>
struct OwnPiece {
  ElementId id;
  Piece* piece;
};

/// What a lender is made of.
template <class Piece>
struct LendSettings {
  /// Where the piece of an element is; the same answer on all ranks, and always. No rank: the element has none.
  std::function<Rank(ElementId)> parent_of;
  /// One for each element whose parent is this rank; borrowed, and staying where they are.
  std::vector<OwnPiece<Piece>> pieces;
  /// The piece that an element away from its parent works on, called once each time that it moves there. May point to
  /// an object of a class derived from `Piece`, with the memory that a piece of views needs.
  std::function<std::shared_ptr<Piece>(ElementId)> make_copy;
};

/// What an element works on of its parent's data: the parent's own piece where the element is on its parent's rank, a
/// copy elsewhere. A handle, good until the lender ends or the element moves.
///
/// The parent's own piece is the object that the parent gave to the lender, at its address: nothing else can be made
/// into this handle.
template <class Piece>
class Lent {
 public:
  [[nodiscard]] Piece& operator*() const noexcept { return *piece_; }
  [[nodiscard]] Piece* operator->() const noexcept { return piece_; }
  /// Whether nothing is copied.
  [[nodiscard]] bool is_parents_own() const noexcept { return is_parents_own_; }

 private:
  template <class AnyPiece>
  friend class Lender;
  Lent(Piece& piece, bool is_parents_own) : piece_{&piece}, is_parents_own_{is_parents_own} {}

  Piece* piece_;
  bool is_parents_own_;
};

/// Lends data of an MPI code, the parent, to the elements of a collection, phase after phase.
///
/// The parent has a fixed decomposition: the piece that belongs to an element stays on one rank, the element's parent
/// rank, in the parent's own memory. The element goes where balancing puts it, and stays there while the parent
/// computes. `lend<In>` brings what accessor `In` takes out of each piece to where the element is, `give_back<Out>`
/// brings what `Out` takes back. Both do nothing for an element on its parent's rank, which works on the parent's
/// memory itself.
///
///     Lender<Cells> lender{runtime, patches, {parent, mine, make_copy}};
///     for (each step) {
///       lender.lend<Fields>();                                         // parent -> elements
///       patches.each([&](Patch& patch, Turn& turn) { patch.move(*lender.at(turn.id())); });
///       lender.give_back<Currents>();                                  // elements -> parent
///       solve_fields();                                                // MPI, as ever
///     }
///
/// From `lend` to `give_back` the parent leaves its pieces alone, and no element moves. When a call has returned,
/// nobody needs this rank's progress for it, and the program may block in MPI. All is collective unless said otherwise.
/// Threads: one at a time, but for `at`.
template <class Piece>
class Lender {
 public:
  /// Runtime: as `task::Flow`. Elements: a `Collection`, or what has its `local()`. Both are borrowed, as the pieces.
  /// All ranks make the lenders of a runtime in the same order. Throws: `Error` with `bad_argument` when the settings
  /// lack a function or name an element twice.
  template <class Runtime, class Elements>
  Lender(Runtime& runtime, Elements& elements, LendSettings<Piece> settings);
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;
  Lender(Lender&&) = delete;
  Lender& operator=(Lender&&) = delete;
  ~Lender() = default;

  /// Brings what `In` takes out of the parent's pieces to the elements. When elements have moved since the last time,
  /// first tells their parents where they are.
  ///
  /// Throws: `Error` with `bad_argument` when it was lent already, when pieces and elements do not match one to one, or
  /// when `In::pack` writes more or less than `In::size` said; that stops the run on all ranks. Cost: one sum over all
  /// ranks, and one message for each other rank that has elements of this parent or is the parent of elements here; two
  /// copies of the bytes.
  template <Accessor<Piece> In>
  void lend() {
    start_lend<In>();
    finish_lend<In>();
  }
  /// The same in two parts, between which the messages travel: for other lenders and other work meanwhile.
  template <Accessor<Piece> In>
  void start_lend();
  template <Accessor<Piece> In>
  void finish_lend();

  /// Brings what `Out` takes out of the copies that elements have worked on into their parents' pieces. Throws, cost:
  /// as `lend`, without the sum; `bad_argument` when nothing is lent, or when elements have moved since.
  template <Accessor<Piece> Out>
  void give_back() {
    start_give_back<Out>();
    finish_give_back<Out>();
  }
  template <Accessor<Piece> Out>
  void start_give_back();
  template <Accessor<Piece> Out>
  void finish_give_back();

  /// What the element works on. Not collective; any thread. Throws: `Error` with `bad_argument` when no such element
  /// with a parent was here when it was lent.
  [[nodiscard]] Lent<Piece> at(ElementId id) const;

  [[nodiscard]] const LendTotals& totals() const noexcept { return routes_.totals(); }

 private:
  using Routes = detail::LendRoutes;

  void find_pieces();
  template <class A>
  [[nodiscard]] static detail::PiecePart part_of();

  Routes routes_;
  LendSettings<Piece> settings_;
  std::unordered_map<ElementId, Piece*> own_;
  std::unordered_map<ElementId, std::shared_ptr<Piece>> copies_;
  std::unordered_map<ElementId, Lent<Piece>> here_;
};

}  // namespace plait::data

#include "plait/data/detail/lender.hpp"
