// SPDX-License-Identifier: Apache-2.0
// Other elements in the place of all that a collection has.
#include <mutex>

#include "plait/data/detail/collection_engine.hpp"

namespace plait::data::detail {

/// Collective: takes over these, each from one rank, and destroys all elements that there are.
void CollectionEngine::replace(std::span<const std::pair<ElementId, Element*>> elements) {
  begin_phase("");
  is_migrating_ = true;
  for (const auto& [id, element] : table_) {
    kind_.destroy(element);
  }
  table_.clear();
  order_.clear();
  // What was known of places is void; news of this phase waits until it opens.
  away_.clear();
  places_.clear();
  later_.clear();
  for (const auto& [id, element] : elements) {
    insert(id, element);
    if (const Rank at_home = home(id); at_home != self_) {
      post(at_home, {.kind = MessageKind::created, .to = id.value(), .origin = self_.value()}, {});
    }
  }
  is_order_old_ = true;
  open_for_messages();
  endpoint_.progress_until([this] { return termination_.is_over() || (look() && termination_.is_over()); });
  close_phase();
  is_migrating_ = false;
}

}  // namespace plait::data::detail
