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

// A collection as bytes, for a checkpoint or for buddy copies, and back: as its elements
// move, by `serialize.hpp` or by the accessor of the collection.

/// The elements of this rank, under the name of the collection. Between phases. Cost: a copy of the elements.
template <class T>
[[nodiscard]] PackedElements pack_elements(const Collection<T>& collection) {
  PackedElements packed{.collection = collection.name(),
                        .type = std::string{type_name<T>()},
                        .shape = collection.shape(),
                        .ids = {},
                        .bytes = {}};
  for (const auto& [id, element] : collection.local()) {
    packed.add(id, collection.pack_element(id));
  }
  return packed;
}

/// Collective, between phases: puts the elements that every rank has in `packed` in the place of all that the
/// collection has; each is then where it was given, wherever its home is. Throws: on all ranks, what `unpack` throws on
/// any.
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

/// Collective: sets a collection to what a checkpoint holds under its name. It may have been made with any elements,
/// most cheaply with empty ones. Throws: as `Checkpoint::elements` and `unpack_elements`; the collection is then as it
/// was.
template <class T>
void restore(const Checkpoint& checkpoint, Collection<T>& collection) {
  unpack_elements(checkpoint.elements(collection.name(), type_name<T>(), collection.shape()), collection);
}

}  // namespace plait::data
