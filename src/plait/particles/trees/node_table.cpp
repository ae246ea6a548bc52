// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/node_table.hpp"

#include <algorithm>
#include <utility>

namespace plait::particles {

void NodeTable::start(const Columns& columns) {
  columns_ = columns;
  size_ = 0;
  grow(nodes_.size());
  std::ranges::fill(motions_, NodeMotion{});
}

std::uint32_t NodeTable::add(std::uint32_t count) {
  const std::uint32_t first = size_;
  if (const std::size_t size = std::size_t{first} + count; size > nodes_.size()) {
    grow(std::max(size, nodes_.size() + nodes_.size() / 2));
  }
  size_ += count;
  return first;
}

void NodeTable::grow(std::size_t size) {
  nodes_.resize(size);
  extents_.resize(size);
  if (columns_.signs) {
    signs_.resize(size);
  }
  if (columns_.reaches) {
    reaches_.resize(size);
  }
  motions_.resize(columns_.motions ? size : 0);
  moments_.resize(size * columns_.moment_bytes);
}

void NodeTable::copy(const NodeTable& from, std::uint32_t first, std::uint32_t count, std::uint32_t to) {
  const auto copy_column = [&](const auto& source, auto target, std::size_t width) {
    if (!source.empty()) {
      std::ranges::copy(source.subspan(first * width, count * width),
                        target.begin() + static_cast<std::ptrdiff_t>(to * width));
    }
  };
  copy_column(from.nodes(), nodes(), 1);
  copy_column(from.extents(), extents(), 1);
  copy_column(from.signs(), signs(), 1);
  copy_column(from.reaches(), reaches(), 1);
  copy_column(from.motions(), motions(), 1);
  copy_column(from.moments(), moments(), columns_.moment_bytes);
}

}  // namespace plait::particles
