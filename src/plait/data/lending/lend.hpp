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

/// The piece that an element uses: the parent's own where the element is on its parent's rank, a copy elsewhere. A
/// handle, valid until the lender ends or the element moves.
///
/// The parent's own piece is the object that the parent gave to the lender, at its address.
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
/// The parent has a fixed decomposition: the piece of an element stays on one rank, the element's parent rank, in the
/// parent's own memory. The element is where balancing puts it, and stays there while the parent computes. `lend<In>`
/// brings what accessor `In` takes out of each piece to the rank of the element, `give_back<Out>` brings what `Out`
/// takes back. Both do nothing for an element on its parent's rank, which uses the parent's memory itself.
///
///     Lender<Cells> lender{runtime, patches, {parent_of, mine, make_copy}};
///     for (each step) {
///       lender.lend<Fields>();
///       Phase phase = patches.start([&](Patch& patch, ElementContext& context) { patch.move(*lender.at(context.id()));
///       },
///                                   {.gate = &lender.gate()});     // each starts when its own piece is there
///       lender.give_back<Currents>().wait();                       // each piece leaves when its element has ended
///       solve_fields();                                            // MPI, as ever; messages of elements may still
///       travel phase.wait();
///     }
///
/// From `lend` until it is back, the parent leaves a piece alone, and no element moves. All calls are collective unless
/// marked otherwise. Threads: one at a time, but for `at`.
template <class Piece>
class Lender {
 public:
  /// Runtime: as `task::Flow`. Elements: a `Collection`, or anything with its `local()` and `placement_version()`. Both
  /// are borrowed, as the pieces. All ranks create the lenders of a runtime in the same order. Throws: `Error` with
  /// `bad_argument` when the settings lack a function or name an element twice.
  template <class Runtime, class Elements>
  Lender(Runtime& runtime, Elements& elements, LendSettings<Piece> settings)
      : settings_{std::move(settings)},
        engine_{runtime.messages(), runtime.scheduler(), runtime.trace(), owned(), callbacks(elements)} {}
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;
  ~Lender() = default;

  /// Starts to bring what `In` takes out of the parent's pieces to the elements, and returns at once. Only when
  /// elements have moved since the last time, all ranks first exchange where they are.
  ///
  /// Waits for pieces that are still on their way back. A phase of the collection may be open if no element has moved.
  /// Throws: `Error` with `bad_argument` when pieces are lent already, when pieces and elements do not match one to
  /// one, or when `In::pack` writes more or less than `In::size` returned; that stops the run on all ranks. Cost: one
  /// message for each other rank that has elements of this parent or is the parent of elements here; two copies of the
  /// bytes.
  template <Accessor<Piece> In>
  Transfer lend() {
    engine_.lend(part_of<In>());
    return {engine_, Direction::to_elements};
  }
  /// Starts to bring what `Out` takes out of the elements' copies into their parents' pieces, and returns at once. The
  /// pieces of elements in a phase that was started with this lender's gate leave when the elements have ended their
  /// steps; messages that these take afterwards must not change the piece.
  ///
  /// Throws: as `lend`; `bad_argument` when nothing is lent, or when elements have moved since. Cost: as `lend`.
  template <Accessor<Piece> Out>
  Transfer give_back() {
    engine_.give_back(part_of<Out>());
    return {engine_, Direction::to_parents};
  }
  /// For `PhaseOptions`: elements begin when their piece is there.
  [[nodiscard]] PhaseGate& gate() noexcept { return engine_; }

  /// The piece of an element here. Not collective; any thread. Throws: `Error` with `bad_argument` when no such element
  /// with a parent was here when it was lent, or when its data has not arrived: it has in a phase with this lender's
  /// gate, and after `Transfer::wait`.
  [[nodiscard]] Lent<Piece> at(ElementId id) const {
    const auto found = here_.find(id);
    if (found == here_.end()) {
      detail::LendEngine::throw_not_here(id);
    }
    if (!engine_.is_ready(Direction::to_elements, id)) {
      detail::LendEngine::throw_not_arrived(id);
    }
    return found->second;
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
