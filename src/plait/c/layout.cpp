// SPDX-License-Identifier: Apache-2.0
// Memory of messages.
#include "plait/comm/layout.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/c/detail/convert.hpp"
#include "plait/plait.h"

namespace plait::c::detail {
namespace {

struct Dimension {
  std::size_t count;
  std::ptrdiff_t stride;
};

/// A layout without dimensions that do nothing: of one block, or contiguous.
struct Reduced {
  std::byte* first;
  std::size_t block_bytes;
  std::vector<Dimension> dimensions;
};

Reduced reduced(const plait_layout& layout) {
  Reduced result{static_cast<std::byte*>(layout.first), layout.block_bytes, {}};
  for (int i = 0; i < layout.dimensions; ++i) {
    const Dimension next{layout.counts[i], layout.strides[i]};
    if (next.count == 0) {
      return {result.first, 0, {}};
    }
    if (next.count == 1) {
      continue;
    }
    if (result.dimensions.empty() && next.stride == static_cast<std::ptrdiff_t>(result.block_bytes)) {
      result.block_bytes *= next.count;
    } else if (!result.dimensions.empty() &&
               next.stride ==
                   result.dimensions.back().stride * static_cast<std::ptrdiff_t>(result.dimensions.back().count)) {
      result.dimensions.back().count *= next.count;
    } else {
      result.dimensions.push_back(next);
    }
  }
  return result;
}

/// The blocks of all dimensions but the last.
std::shared_ptr<const comm::LayoutPattern> inner_pattern(const Reduced& layout) {
  std::vector<comm::LayoutPattern::Block> blocks{{.place = 0, .bytes = layout.block_bytes}};
  for (const Dimension& dimension : std::span{layout.dimensions}.first(layout.dimensions.size() - 1)) {
    const std::size_t inner = blocks.size();
    blocks.reserve(inner * dimension.count);
    for (std::size_t i = 1; i < dimension.count; ++i) {
      for (std::size_t block = 0; block < inner; ++block) {
        blocks.push_back({.place = blocks[block].place + static_cast<std::ptrdiff_t>(i) * dimension.stride,
                          .bytes = layout.block_bytes});
      }
    }
  }
  return std::make_shared<const comm::LayoutPattern>(blocks);
}

Reduced checked(const plait_layout* given) {
  require(given != nullptr && given->dimensions >= 0 && given->dimensions <= PLAIT_DIMENSIONS_MAX,
          "a layout has 0 to PLAIT_DIMENSIONS_MAX dimensions: make it by plait_contiguous or plait_strided");
  Reduced layout = reduced(*given);
  require(layout.first != nullptr || layout.block_bytes == 0,
          "a message has bytes at a null pointer: allocate its memory before");
  return layout;
}

}  // namespace

std::span<std::byte> contiguous_part(const plait_layout* layout) {
  const Reduced reduced_layout = checked(layout);
  return {reduced_layout.first, reduced_layout.block_bytes};
}

comm::Layout layout_of(const plait_layout* given) {
  const Reduced layout = checked(given);
  if (layout.dimensions.empty() || layout.block_bytes == 0) {
    return comm::Layout::blocks(std::vector{std::span{layout.first, layout.block_bytes}});
  }
  const Dimension& last = layout.dimensions.back();
  if (layout.dimensions.size() == 1 && last.stride >= static_cast<std::ptrdiff_t>(layout.block_bytes)) {
    return comm::Layout::strided(layout.first, layout.block_bytes, static_cast<std::size_t>(last.stride), last.count);
  }
  return comm::Layout::repeated(inner_pattern(layout), layout.first, last.stride, last.count);
}

}  // namespace plait::c::detail

extern "C" {

plait_layout plait_contiguous(const void* first, size_t bytes) {
  plait_layout layout{};
  layout.first = const_cast<void*>(first);
  layout.block_bytes = bytes;
  return layout;
}

plait_layout plait_strided(const void* first, size_t block_bytes, ptrdiff_t stride_bytes, size_t count) {
  plait_layout layout = plait_contiguous(first, block_bytes);
  layout.dimensions = 1;
  layout.counts[0] = count;
  layout.strides[0] = stride_bytes;
  return layout;
}

int plait_layout_repeat(plait_layout* layout, ptrdiff_t stride_bytes, size_t count) {
  if (layout->dimensions >= PLAIT_DIMENSIONS_MAX) {
    return plait_fail(PLAIT_BAD_ARGUMENT, "a layout has at most 15 dimensions: send parts of it as messages");
  }
  layout->counts[layout->dimensions] = count;
  layout->strides[layout->dimensions] = stride_bytes;
  ++layout->dimensions;
  return PLAIT_SUCCESS;
}

size_t plait_layout_bytes(const plait_layout* layout) {
  size_t bytes = layout->block_bytes;
  for (int i = 0; i < layout->dimensions; ++i) {
    bytes *= layout->counts[i];
  }
  return bytes;
}
}
