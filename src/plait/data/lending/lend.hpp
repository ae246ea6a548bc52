// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/base/type_name.hpp"
#include "plait/data/accessor.hpp"
#include "plait/data/lending/engine/lend_engine.hpp"
#include "plait/data/lending/lend_settings.hpp"
#include "plait/data/lending/transfer.hpp"

namespace plait::data {

/// A handle to the piece of an element: the parent's object where the element is on its parent's rank, a copy
/// elsewhere. Valid until the lender is destroyed or the element moves.
template <class Piece>
class Lent {
 public:
  [[nodiscard]] Piece& operator*() const noexcept { return *piece_; }
  [[nodiscard]] Piece* operator->() const noexcept { return piece_; }
  /// Returns whether it is the parent's object, not a copy.
  [[nodiscard]] bool is_parents_own() const noexcept { return is_parents_own_; }

 private:
  template <class AnyPiece>
  friend class Lender;
  Lent(Piece& piece, bool is_parents_own) : piece_{&piece}, is_parents_own_{is_parents_own} {}

  Piece* piece_;
  bool is_parents_own_;
};

/// Lends data of an MPI code, the parent, to the elements of a collection.
///
/// The parent has a fixed decomposition: the piece of an element stays in the parent's memory on one rank, the
/// element's parent rank. The element may migrate. `lend<In>` sends the part of each piece that accessor `In` packs to
/// the rank of the element; `give_back<Out>` returns the part that `Out` packs. An element on its parent's rank uses
/// the parent's memory, without a copy.
///
///     Lender<Cells> lender{runtime, patches, {parent_of, mine, make_copy}};
///     for (each step) {
///       lender.lend<Fields>();
///       Phase phase = patches.start(
///           [&](Patch& patch, ElementContext& context) { patch.move(*lender.at(context.id())); },
///           {.gate = &lender.gate()});          // each element starts when its piece has arrived
///       lender.give_back<Currents>().wait();    // each piece is sent when its element has ended
///       solve_fields();                         // MPI; messages of elements may still be in flight
///       phase.wait();
///     }
///
/// From `lend` until its return, the parent does not access a piece, and no element migrates. Functions are collective
/// unless marked otherwise. Threads: one at a time, but for `at`.
template <class Piece>
class Lender {
 public:
  /// Borrows the runtime, the pieces and `elements`: a `Collection`, or a type with its `local()` and
  /// `placement_version()`. All ranks create the lenders of a runtime in the same order. Throws: `Error` with
  /// `bad_argument` when the settings lack a function or name an element twice.
  template <class Runtime, class Elements>
  Lender(Runtime& runtime, Elements& elements, LendSettings<Piece> settings)
      : settings_{std::move(settings)},
        engine_{runtime.messages(), runtime.scheduler(), runtime.trace(), owned(), callbacks(elements)} {}
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;
  ~Lender() = default;

  /// Starts to send the parts of pieces that `In` packs to the elements, and returns at once. If elements have moved
  /// since the last call, all ranks first exchange their locations.
  ///
  /// Waits for pieces that are still being returned. A phase of the collection may be open if no element has moved.
  /// Throws: `Error` with `bad_argument`, which stops the run on all ranks, when pieces are lent already, when pieces
  /// and elements do not match one to one, or when `In::pack` writes another number of bytes than `In::size` returned.
  /// Cost: a message to or from each rank that shares pieces with this one; two copies of the bytes.
  template <Accessor<Piece> In>
  Transfer lend() {
    engine_.lend(part_of<In>());
    return {engine_, Direction::to_elements};
  }
  /// Starts to return the parts of pieces that `Out` packs to their parents, and returns at once. In a phase with this
  /// lender's gate, a piece is sent when its element has ended its steps; later messages must not change it.
  ///
  /// Throws: as `lend`; `bad_argument` when nothing is lent, or when elements have moved since. Cost: as `lend`.
  template <Accessor<Piece> Out>
  Transfer give_back() {
    engine_.give_back(part_of<Out>());
    return {engine_, Direction::to_parents};
  }
  /// Returns the gate for `PhaseOptions`: each element begins when its piece has arrived.
  [[nodiscard]] PhaseGate& gate() noexcept { return engine_; }

  /// Returns the piece of an element of this rank. Not collective; any thread. Throws: `Error` with `bad_argument` when
  /// the element has no piece or was not here at `lend`, or when its data has not arrived. It has arrived in a phase
  /// with this lender's gate, and after `Transfer::wait`.
  [[nodiscard]] Lent<Piece> at(ElementId id) const {
    engine_.throw_unless_ready(id);
    return here_.at(id);
  }

  [[nodiscard]] const LendTotals& totals() const noexcept { return engine_.totals(); }

 private:
  using Direction = detail::LendEngine::Direction;

  [[nodiscard]] std::vector<ElementId> owned() {
    if (!settings_.parent_of || !settings_.make_copy) {
      throw Error{
          ErrorCode::bad_argument,
          "a lender needs the ranks of the elements' pieces (parent_of), and a function that makes the piece of "
          "an element that is not with its parent (make_copy)"};
    }
    std::vector<ElementId> ids;
    for (const OwnPiece<Piece>& own : settings_.pieces) {
      own_.emplace(own.id, own.piece);
      ids.push_back(own.id);
    }
    return ids;
  }
  template <class Elements>
  [[nodiscard]] detail::LendEngine::Callbacks callbacks(Elements& elements) {
    return {.here =
                [this, &elements] {
                  std::vector<ElementPlace> here;
                  for (auto&& [id, element] : elements.local()) {
                    if (const Rank parent = settings_.parent_of(id)) {
                      here.push_back({id, parent});
                    }
                  }
                  return here;
                },
            .placement = [&elements] { return elements.placement_version(); },
            .own_piece = [this](ElementId id) -> void* { return own_.at(id); },
            .copy = [this](ElementId id) -> void* { return copies_.at(id).get(); },
            .use_pieces =
                [this](const std::vector<ElementId>& borrowed, const std::vector<ElementId>& at_home) {
                  std::unordered_map<ElementId, std::shared_ptr<Piece>> copies;
                  here_.clear();
                  for (const ElementId id : borrowed) {
                    const auto known = copies_.find(id);
                    std::shared_ptr<Piece>& copy = copies[id];
                    copy = known != copies_.end() ? std::move(known->second) : settings_.make_copy(id);
                    here_.emplace(id, Lent<Piece>{*copy, false});
                  }
                  copies_ = std::move(copies);
                  for (const ElementId id : at_home) {
                    here_.emplace(id, Lent<Piece>{*own_.at(id), true});
                  }
                }};
  }
  template <class A>
  [[nodiscard]] static detail::PiecePart part_of() {
    return {.accessor = type_name<A>(),
            .type = type_name<Piece>(),
            .size = [](const void* piece) -> std::size_t { return A::size(*static_cast<const Piece*>(piece)); },
            .pack =
                [](const void* piece, std::span<std::byte> place) {
                  Packer packer{place};
                  A::pack(*static_cast<const Piece*>(piece), packer);
                  return packer.count();
                },
            .unpack = [](std::span<const std::byte> from,
                         void* piece) { unpack_with<A>(from, *static_cast<Piece*>(piece)); }};
  }

  LendSettings<Piece> settings_;
  std::unordered_map<ElementId, Piece*> own_;
  std::unordered_map<ElementId, std::shared_ptr<Piece>> copies_;  ///< Of elements here whose parent is elsewhere.
  std::unordered_map<ElementId, Lent<Piece>> here_;
  detail::LendEngine engine_;
};

}  // namespace plait::data
