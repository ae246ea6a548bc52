// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/type_name.hpp"
#include "plait/data/checkpoints/checkpoint.hpp"
#include "plait/data/checkpoints/packed_elements.hpp"
#include "plait/data/collections/collection.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data {

// Collections to and from bytes, for checkpoints and buddy copies. Elements are serialised as in a migration, by
// `serialize.hpp` or by the accessor of the collection.

/// Packs the elements of this rank. Call it between phases. Cost: a copy of the elements.
template <class T>
[[nodiscard]] PackedElements pack_elements(const Collection<T>& collection) {
  PackedElements packed{
      .collection = collection.name(), .type = std::string{type_name<T>()}, .shape = collection.shape()};
  for (const auto& [id, element] : collection.local()) {
    packed.add(id, collection.pack_element(id));
  }
  return packed;
}

/// Collective, between phases: replaces all elements of the collection by those in `packed` on all ranks. Each element
/// is then on the rank that had it in `packed`. Throws: on all ranks, what `unpack` throws on any.
template <class T>
void unpack_elements(const PackedElements& packed, Collection<T>& collection) {
  collection.replace([&] {
    std::vector<std::pair<ElementId, T>> elements;
    elements.reserve(packed.count());
    for (std::size_t place = 0; place < packed.count(); ++place) {
      elements.emplace_back(packed.ids[place], collection.unpack_element(packed.ids[place], packed.element(place)));
    }
    return elements;
  });
}

/// Collective: replaces all elements of a collection by those of a checkpoint, by its name. Elements that are replaced
/// may be empty. Throws: as `Checkpoint::elements` and `unpack_elements`; the collection is then unchanged.
template <class T>
void restore(const Checkpoint& checkpoint, Collection<T>& collection) {
  unpack_elements(checkpoint.elements(collection.name(), type_name<T>(), collection.shape()), collection);
}

}  // namespace plait::data
