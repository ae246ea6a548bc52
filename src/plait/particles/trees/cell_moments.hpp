// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/vector.hpp"

namespace plait::particles {

/// The moments that a program defines for the cells of a tree, beside mass and quadrupole; created by `make_moments`.
/// They travel in messages. None by default.
struct CellMoments {
  std::size_t bytes = 0;        ///< Of one cell's.
  std::vector<std::byte> none;  ///< The moment of no particles.
  /// Adds the particle at a place of the store to a moment. `offset` is from the centre of the cell to the particle.
  std::function<void(std::byte* moment, const Particles& store, Particles::Index place, const Vector& offset)> add_body;
  /// Adds the moment of a child. `offset` is from the centre of the cell to that of the child.
  std::function<void(std::byte* moment, const std::byte* child, const Vector& offset)> add_child;
};

/// Makes moments of type `Moment`, whose default value is that of no particles.
///
/// `add_body(Moment&, const Particles&, Particles::Index place, const Vector& offset)` adds a particle;
/// `add_child(Moment&, const Moment& child, const Vector& offset)` shifts the moment of a child to the centre of the
/// cell and adds it. Offsets are as in `CellMoments`. The centre of a cell is that of the absolute charges, or the
/// middle of its box if all are 0. Any worker calls both, concurrently for different cells. Particles whose kind is not
/// a source are left out. After a migration places are those of the new order.
template <class Moment, class AddBody, class AddChild>
[[nodiscard]] CellMoments make_moments(AddBody add_body, AddChild add_child) {
  static_assert(std::is_trivially_copyable_v<Moment> && alignof(Moment) <= 64, "travels in messages");
  const auto change = [](std::byte* moment, const auto& work) {
    Moment value;
    std::memcpy(static_cast<void*>(&value), moment, sizeof value);
    work(value);
    std::memcpy(moment, &value, sizeof value);
  };
  std::vector<std::byte> none(sizeof(Moment));
  const Moment of_none{};
  std::memcpy(none.data(), &of_none, sizeof of_none);
  return {.bytes = sizeof(Moment),
          .none = std::move(none),
          .add_body =
              [change, add = std::move(add_body)](
                  std::byte* moment, const Particles& store, Particles::Index place, const Vector& offset) {
                change(moment, [&](Moment& value) { add(value, store, place, offset); });
              },
          .add_child =
              [change, add = std::move(add_child)](std::byte* moment, const std::byte* child, const Vector& offset) {
                Moment of_child;
                std::memcpy(static_cast<void*>(&of_child), child, sizeof of_child);
                change(moment, [&](Moment& value) { add(value, of_child, offset); });
              }};
}

}  // namespace plait::particles
