// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"

#include "ring/boundary.hpp"
#include "ring/tree.hpp"

namespace ring {

using Bytes = plait::Bytes;

/// The locally essential tree of a rank for another: a pruned copy, in one flat buffer, that its receiver walks as it
/// walks its own tree. Where no body of the receiver can need more, a node is sealed.
///
/// Layout: `LetHeader`, nodes, sources, velocities (only with contacts), each a packed array; the byte order and
/// floating-point format of the machine.
struct LetHeader {
  static constexpr std::uint64_t magic_value = 0x31'54454c'474e4952;  // "RINGLET1"
  std::uint64_t magic = magic_value;
  std::uint32_t node_count = 0;
  std::uint32_t source_count = 0;
  std::uint32_t velocity_count = 0;
  std::uint32_t unused = 0;
  std::uint64_t unused2[5] = {};
};
static_assert(sizeof(LetHeader) == 64, "nodes that follow stand on cache lines when the buffer does");

/// Fills `buffer`, keeping its memory, with what the bodies of `receiver` need of `tree`.
/// Cost: O(nodes written x boxes near them).
void make_let(const Tree& tree, const Boundary& receiver, Bytes& buffer);
[[nodiscard]] Bytes make_let(const Tree& tree, const Boundary& receiver);

/// Checks a received tree wholly, so that no walk over it can go astray, and gives a view into `buffer`, which must
/// stay and be aligned to 8 bytes. Expects of the sender: same contact radius (`with_contacts`).
/// Error: says what is wrong. Cost: O(buffer).
[[nodiscard]] plait::Result<TreeView> open_let(std::span<const std::byte> buffer, bool with_contacts);

/// The root moments of ranks that are far for all bodies here, gathered in a tree of their own, so that a walk takes
/// time logarithmic in their number. Skips empty boundaries.
///
/// The view it gives holds as long as the object.
class FarField {
 public:
  FarField() = default;
  FarField(std::span<const Boundary> boundaries, const TreeOptions& options);
  [[nodiscard]] TreeView view() const noexcept;

 private:
  std::vector<Node> nodes_;
};

}  // namespace ring
