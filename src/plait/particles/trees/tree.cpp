// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree.hpp"

#include <algorithm>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/particles/trees/detail/charges.hpp"
#include "plait/particles/trees/detail/moments.hpp"
#include "plait/particles/trees/detail/motions.hpp"

namespace plait::particles {

void Tree::start() {
  table_.start({.signs = has_signs_,
                .reaches = options_.near_reach.has_value(),
                .motions = options_.velocity.has_value(),
                .moment_bytes = moment_bytes(options_)});
  groups_.clear();
  batches_.clear();
}

void Tree::refresh() {
  const Particles& store = *store_;
  expect(store.size() == sources_.size(), "the store has the particles of the last build");
  const auto positions = store.positions();
  const detail::Charges charges{store, options_};
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    sources_[i] = {positions[i], charges[i]};
  }
  for (std::uint32_t i = table_.size(); i-- > 0;) {  // children are after their parents
    sum_node(i);
  }
  for (Batch& batch : batches_) {
    set_boxes(batch);
  }
}

void Tree::find_motions() {
  expect(options_.velocity.has_value(), "motions need a velocity");
  detail::sum_motions(table_, sources_, std::as_const(*store_)[*options_.velocity]);
}

void Tree::sum_node(std::uint32_t node) {
  detail::sum_node({options_, *store_, sources_}, table_, node);
}

void Tree::set_boxes(Batch& batch) {
  const std::span<const float> reaches =
      options_.near_reach ? std::as_const(*store_)[*options_.near_reach] : std::span<const float>{};
  batch.box = {};
  for (BodyGroup& group : std::span{groups_}.subspan(batch.first_group, batch.group_count)) {
    Box box;
    for (const Source& source : std::span{sources_}.subspan(group.first_body, group.body_count)) {
      box.include(source.position);
    }
    const float reach = reaches.empty() ? 0 : std::ranges::max(reaches.subspan(group.first_body, group.body_count));
    group.box = particles::target_box(box, reach, options_);
    batch.box.include(group.box);
  }
}

Box Tree::target_box(std::uint32_t node) const {
  return particles::target_box(extents()[node].box, options_.near_reach ? table_.reaches()[node] : 0, options_);
}

TreeView Tree::view() const {
  TreeView view{nodes(), nodes().empty() ? 0U : 1U, sources_, {}, {}, table_.moments()};
  for (const AnyField& field : options_.travels) {
    view.columns.push_back(std::as_const(*store_).bytes_of(field).data());
  }
  return view;
}

}  // namespace plait::particles
