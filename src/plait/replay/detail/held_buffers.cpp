// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/held_buffers.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <utility>

namespace plait::replay::detail {
namespace {

struct Count {
  std::size_t now = 0;
  std::size_t most = 0;
};

}  // namespace

std::vector<HeldBuffers> held_buffers(const Stream& stream) {
  std::map<std::pair<bool, std::uint64_t>, Count> counts;
  const auto count_of = [&](const Operation& message) -> Count& {
    return counts[{message.action == Action::send, std::bit_ceil(message.bytes)}];
  };
  std::vector<bool> is_held(stream.operations.size());
  for (std::size_t i = 0; i < stream.operations.size(); ++i) {
    const Operation& operation = stream.operations[i];
    if (operation.action == Action::send || operation.action == Action::receive) {
      Count& count = count_of(operation);
      count.most = std::max(count.most, ++count.now);
      is_held[i] = true;
    } else if (operation.action == Action::wait) {
      for (const std::uint32_t waited : std::span{stream.waited}.subspan(operation.first, operation.count)) {
        if (is_held[waited]) {
          is_held[waited] = false;
          --count_of(stream.operations[waited]).now;
        }
      }
    }
  }
  std::vector<HeldBuffers> held;
  for (const auto& [key, count] : counts) {
    held.push_back({.is_sent = key.first, .bytes = key.second, .count = count.most});
  }
  return held;
}

}  // namespace plait::replay::detail
