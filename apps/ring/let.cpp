// SPDX-License-Identifier: Apache-2.0
#include "ring/let.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "ring/detail/moments.hpp"
#include "ring/detail/opening.hpp"

namespace ring {
namespace {

using plait::Error;
using plait::ErrorCode;

/// A box of the receiver with what the opening test needs.
struct Target {
  Box box;
  double guard2;
};

/// Copies the part of a tree that some boxes need.
class Pruner {
 public:
  Pruner(const Tree& tree, const Boundary& receiver) : tree_{tree} {
    for (const SmallBox& small : receiver.boxes()) {
      const Box box = small.box();
      targets_.push_back({box, detail::guard2(box)});
    }
  }

  void run() {
    nodes_.resize(1);
    copy(0, 0, 0, targets_.size());
  }

  void write(Bytes& buffer) const {
    LetHeader header;
    header.node_count = static_cast<std::uint32_t>(nodes_.size());
    header.source_count = static_cast<std::uint32_t>(sources_.size());
    header.velocity_count = static_cast<std::uint32_t>(velocities_.size());
    buffer.resize(sizeof header + nodes_.size() * sizeof(Node) + sources_.size() * sizeof(Source) +
                  velocities_.size() * sizeof(Vector));
    std::byte* to = buffer.data();
    const auto put = [&to](const void* from, std::size_t bytes) {
      if (bytes > 0) {
        std::memcpy(to, from, bytes);
      }
      to += bytes;
    };
    put(&header, sizeof header);
    put(nodes_.data(), nodes_.size() * sizeof(Node));
    put(sources_.data(), sources_.size() * sizeof(Source));
    put(velocities_.data(), velocities_.size() * sizeof(Vector));
  }

 private:
  /// Copies node `from` to place `to`; of the targets, only `begin` to `end` - 1 may need to open it.
  void copy(std::uint32_t from, std::uint32_t to, std::size_t begin, std::size_t end) {
    const Node& node = tree_.nodes()[from];
    nodes_[to] = node;
    const std::size_t near_begin = targets_.size();
    for (std::size_t i = begin; i < end; ++i) {
      const Target target = targets_[i];
      if (detail::opens(node, target.box, target.guard2)) {
        targets_.push_back(target);  // a stack: below stand those of the ancestors
      }
    }
    const bool needed = targets_.size() > near_begin;
    if (node.kind() == NodeKind::leaf && (needed || node.count() == 1)) {
      copy_bodies(node, nodes_[to]);
    } else if (node.kind() == NodeKind::cell && needed) {
      const auto first = static_cast<std::uint32_t>(nodes_.size());
      nodes_.resize(first + node.count());
      nodes_[to].set_content(NodeKind::cell, first, node.count());
      const std::size_t near_end = targets_.size();
      for (std::uint32_t i = 0; i < node.count(); ++i) {
        copy(node.first + i, first + i, near_begin, near_end);
      }
    } else {
      nodes_[to].set_content(NodeKind::sealed, 0, 0);
    }
    targets_.resize(near_begin);
  }

  void copy_bodies(const Node& from, Node& to) {
    to.set_content(NodeKind::leaf, static_cast<std::uint32_t>(sources_.size()), from.count());
    const auto sources = tree_.sources().subspan(from.first, from.count());
    sources_.insert(sources_.end(), sources.begin(), sources.end());
    if (!tree_.velocities().empty()) {
      const auto velocities = tree_.velocities().subspan(from.first, from.count());
      velocities_.insert(velocities_.end(), velocities.begin(), velocities.end());
    }
  }

  const Tree& tree_;
  std::vector<Target> targets_;
  std::vector<Node> nodes_;
  std::vector<Source> sources_;
  std::vector<Vector> velocities_;
};

bool is_finite(const Vector& v) {
  return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z);
}

/// Why `node`, at `index`, cannot be in a tree of that size; null when it can.
const char* fault_of(const Node& node, std::uint64_t index, const LetHeader& header) {
  const std::uint64_t end = std::uint64_t{node.first} + node.count();
  if (!is_finite(node.center) || !std::isfinite(node.mass) || std::isnan(node.opening2)) {
    return "is not finite";
  }
  switch (node.kind()) {
    case NodeKind::sealed:
      return nullptr;
    case NodeKind::leaf:
      return end <= header.source_count ? nullptr : "names bodies that are not there";
    case NodeKind::cell:
      if (node.first <= index) {
        return "names children that stand before it";
      }
      return end <= header.node_count ? nullptr : "names children that are not there";
  }
  return "is of no known kind";
}

Error fault(const std::string& what) {
  return Error{ErrorCode::bad_input, "received tree: " + what + "; do all ranks run the same program?"};
}

}  // namespace

void make_let(const Tree& tree, const Boundary& receiver, Bytes& buffer) {
  Pruner pruner{tree, receiver};
  if (!tree.nodes().empty() && !receiver.is_empty()) {
    pruner.run();
  }
  pruner.write(buffer);
}

Bytes make_let(const Tree& tree, const Boundary& receiver) {
  Bytes buffer;
  make_let(tree, receiver, buffer);
  return buffer;
}

plait::Result<TreeView> open_let(std::span<const std::byte> buffer, bool with_contacts) {
  plait::expect(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignof(double) == 0, "nodes are read in place");
  LetHeader header;
  if (buffer.size() < sizeof header) {
    return fault(fmt::format("{} bytes are too few for a header", buffer.size()));
  }
  std::memcpy(&header, buffer.data(), sizeof header);
  if (header.magic != LetHeader::magic_value) {
    return fault("it does not begin like one");
  }
  const std::size_t expected = sizeof header + header.node_count * sizeof(Node) + header.source_count * sizeof(Source) +
                               header.velocity_count * sizeof(Vector);
  if (buffer.size() != expected) {
    return fault(fmt::format("{} bytes came where its header tells of {}", buffer.size(), expected));
  }
  if (header.velocity_count != (with_contacts ? header.source_count : 0)) {
    return fault(fmt::format("{} velocities for {} bodies", header.velocity_count, header.source_count));
  }
  const auto* nodes = reinterpret_cast<const Node*>(buffer.data() + sizeof header);
  const auto* sources = reinterpret_cast<const Source*>(nodes + header.node_count);
  const auto* velocities = reinterpret_cast<const Vector*>(sources + header.source_count);
  for (std::uint32_t i = 0; i < header.node_count; ++i) {
    if (const char* why = fault_of(nodes[i], i, header)) {
      return fault(fmt::format("node {} of {} {}", i, header.node_count, why));
    }
  }
  const bool sources_finite = std::all_of(sources, sources + header.source_count, [](const Source& source) {
    return is_finite(source.position) && std::isfinite(source.mass);
  });
  if (!sources_finite || !std::all_of(velocities, velocities + header.velocity_count, is_finite)) {
    return fault("a body is not finite");
  }
  return TreeView{{nodes, header.node_count},
                  header.node_count > 0 ? 1U : 0U,
                  {sources, header.source_count},
                  {velocities, header.velocity_count}};
}

FarField::FarField(std::span<const Boundary> boundaries, const TreeOptions& options) {
  // A tree of ranks: their roots in order along the curve, joined by eight until one is left.
  struct Place {
    MortonKey key;
    Node node;
    NodeExtent extent;
  };
  std::vector<Place> level;
  Box box;
  for (const Boundary& boundary : boundaries) {
    if (!boundary.is_empty()) {
      Place place{0, boundary.root, {}};
      for (const SmallBox& small : boundary.boxes()) {
        place.extent.box.include(small.box());
      }
      place.extent.mass = static_cast<double>(boundary.root.mass);
      box.include(boundary.root.center);
      level.push_back(place);
    }
  }
  const KeyCube cube{box};
  for (Place& place : level) {
    place.key = cube.key_of(place.node.center);
  }
  std::ranges::stable_sort(level, {}, &Place::key);
  constexpr std::size_t arity = 4;
  std::vector<std::vector<Place>> levels;
  while (!level.empty()) {
    levels.push_back(level);
    if (level.size() == 1) {
      break;
    }
    std::vector<Place> upper;
    for (std::size_t begin = 0; begin < level.size(); begin += arity) {
      const std::size_t count = std::min(arity, level.size() - begin);
      std::vector<Node> nodes;
      std::vector<NodeExtent> extents;
      for (std::size_t i = begin; i < begin + count; ++i) {
        nodes.push_back(level[i].node);
        extents.push_back(level[i].extent);
      }
      Place& place = upper.emplace_back();
      detail::sum_children(nodes, extents, place.node, place.extent);
      detail::set_opening(options, place.extent.box, place.node);
      place.node.set_content(NodeKind::cell, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(count));
    }
    level = std::move(upper);
  }
  std::size_t begin = 0;  // of the level below the one being placed
  for (auto upper = levels.rbegin(); upper != levels.rend(); ++upper) {
    begin += upper->size();
    for (Place& place : *upper) {
      if (place.node.kind() == NodeKind::cell) {
        place.node.first += static_cast<std::uint32_t>(begin);
      }
      nodes_.push_back(place.node);
    }
  }
}

TreeView FarField::view() const noexcept {
  return {nodes_, nodes_.empty() ? 0U : 1U, {}, {}};
}

}  // namespace ring
