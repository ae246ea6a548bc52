// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "plait/plait.hpp"

#include "pic/patch.hpp"

namespace pic {

/// What of a patch goes along when it moves: its particles, not its tiles.
template <int D>
struct PatchParcel {
  std::int32_t number = 0;
  std::uint64_t absorbed = 0;
  std::vector<Particles<D>> species;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, absorbed, species);
  }
};

/// Adds a value, behind its length, to the end of a message.
template <class T>
void append_packed(const T& value, plait::Bytes& out) {
  const plait::Bytes packed = plait::data::pack(value);
  const std::uint64_t length = packed.size();
  const auto* const head = reinterpret_cast<const std::byte*>(&length);
  out.insert(out.end(), head, head + sizeof length);
  out.insert(out.end(), packed.begin(), packed.end());
}

/// Calls `f(value)` with every value of such a message. Throws: `plait::Error` when one is no `T`.
template <class T, class F>
void for_each_packed(std::span<const std::byte> bytes, F f) {
  while (!bytes.empty()) {
    std::uint64_t length = 0;
    plait::expect(bytes.size() >= sizeof length, "a packed value begins with its length");
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes = bytes.subspan(sizeof length);
    plait::expect(bytes.size() >= length, "a packed value is whole");
    f(plait::data::unpack_as<T>(bytes.first(length)));
    bytes = bytes.subspan(length);
  }
}

/// A patch as balancers see it, without load: where it is, and where its middle is, in cells.
template <int D>
[[nodiscard]] plait::data::balance::Object balance_object(const Division<D>& patches,
                                                          std::int32_t patch,
                                                          plait::Rank place) {
  plait::data::balance::Object object{
      .id = plait::data::ElementId{static_cast<std::uint64_t>(patch)}, .rank = place, .load = 0};
  const Box<D> box = patches.box(patch);
  for (int d = 0; d < D; ++d) {
    object.position[static_cast<std::size_t>(d)] = 0.5 * (box.low[d] + box.high[d]);
  }
  return object;
}

}  // namespace pic
