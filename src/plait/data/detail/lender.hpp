// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of lend.hpp.

#include "plait/data/lend.hpp"

namespace plait::data {

template <class Piece>
template <class Runtime, class Elements>
Lender<Piece>::Lender(Runtime& runtime, Elements& elements, LendSettings<Piece> settings)
    : routes_{runtime.messages(),
              [&elements, parent_of = settings.parent_of] {
                std::vector<detail::LendRoutes::Place> here;
                for (auto&& [id, element] : elements.local()) {
                  if (const Rank parent = parent_of(id)) {
                    here.push_back({id, parent});
                  }
                }
                return here;
              }},
      settings_{std::move(settings)} {
  if (!settings_.parent_of || !settings_.make_copy) {
    throw Error{ErrorCode::bad_argument,
                "a lender needs to know where the parents of elements are (parent_of), and how to make the piece of an "
                "element that is not with its parent (make_copy)"};
  }
  std::vector<ElementId> ids;
  for (const OwnPiece<Piece>& own : settings_.pieces) {
    own_.emplace(own.id, own.piece);
    ids.push_back(own.id);
  }
  routes_.set_owned(std::move(ids));
}

template <class Piece>
template <Accessor<Piece> In>
void Lender<Piece>::start_lend() {
  if (routes_.begin_to_lend()) {
    find_pieces();
  }
  routes_.start(Routes::Side::borrowers, part_of<In>());
}

template <class Piece>
template <Accessor<Piece> In>
void Lender<Piece>::finish_lend() {
  routes_.finish(Routes::Side::borrowers, part_of<In>());
}

template <class Piece>
template <Accessor<Piece> Out>
void Lender<Piece>::start_give_back() {
  routes_.begin_to_give_back();
  routes_.start(Routes::Side::parents, part_of<Out>());
}

template <class Piece>
template <Accessor<Piece> Out>
void Lender<Piece>::finish_give_back() {
  routes_.finish(Routes::Side::parents, part_of<Out>());
}

template <class Piece>
Lent<Piece> Lender<Piece>::at(ElementId id) const {
  const auto found = here_.find(id);
  if (found == here_.end()) {
    routes_.throw_not_here(id);
  }
  return found->second;
}

/// Elements have come or gone: finds the piece of each that is here, and keeps the copies of those that stayed.
template <class Piece>
void Lender<Piece>::find_pieces() {
  std::unordered_map<ElementId, std::shared_ptr<Piece>> copies;
  here_.clear();
  for (Routes::Peer& parent : routes_.peers(Routes::Side::parents)) {
    parent.pieces.clear();
    for (const ElementId id : parent.ids) {
      const auto known = copies_.find(id);
      std::shared_ptr<Piece>& copy = copies[id];
      copy = known != copies_.end() ? std::move(known->second) : settings_.make_copy(id);
      parent.pieces.push_back(copy.get());
      here_.emplace(id, Lent<Piece>{*copy, false});
    }
  }
  copies_ = std::move(copies);
  for (Routes::Peer& borrower : routes_.peers(Routes::Side::borrowers)) {
    borrower.pieces.clear();
    for (const ElementId id : borrower.ids) {
      borrower.pieces.push_back(own_.at(id));
    }
  }
  for (const ElementId id : routes_.at_home()) {
    here_.emplace(id, Lent<Piece>{*own_.at(id), true});
  }
}

template <class Piece>
template <class A>
detail::PiecePart Lender<Piece>::part_of() {
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

}  // namespace plait::data
