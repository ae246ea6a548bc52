// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/backend/slots.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "plait/base/error.hpp"

namespace plait::replay {
namespace {

constexpr std::uint32_t no_channel = std::numeric_limits<std::uint32_t>::max();

/// A cache line, as flags of different messages are polled and written concurrently.
constexpr std::uint64_t alignment = 64;

/// A message of a channel.
struct Found {
  nanoseconds at{};
  std::size_t operation = 0;
  std::uint64_t bytes = 0;
};
using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // peer, communicator, tag

std::map<Key, std::vector<Found>> find_channels(const RankPart& part, Action direction) {
  std::map<Key, std::vector<Found>> channels;
  std::size_t number = 0;
  const auto add = [&](const Operation& operation) {
    if (operation.action == direction) {
      channels[{operation.peer, operation.communicator, operation.tag}].push_back(
          {operation.at, number, operation.bytes});
    }
    ++number;
  };
  for (const Stream& stream : part.schedule.streams) {
    std::ranges::for_each(stream.operations, add);
  }
  if (part.schedule.streams.size() > 1) {
    for (auto& [key, messages] : channels) {
      std::ranges::stable_sort(messages, {}, &Found::at);
    }
  }
  return channels;
}

/// Adds a value to a fingerprint, as FNV-1a (Fowler, Noll and Vo), but a word at a time.
std::uint64_t mixed(std::uint64_t state, std::uint64_t value) {
  state = (state ^ value) * 0x100'0000'01b3;
  return state ^ (state >> 29U);
}

}  // namespace

Slots::Slots(const RankPart& part, Action direction)
    : peers_(part.rank_count), channel_of_(part.operation_count(), no_channel) {
  for (const auto& [key, messages] : find_channels(part, direction)) {
    const auto& [rank, communicator, tag] = key;
    Peer& peer = peers_.at(rank);
    peer.fingerprint = mixed(mixed(peer.fingerprint + 1, communicator), tag);
    for (const Found& message : messages) {
      channel_of_[message.operation] = static_cast<std::uint32_t>(channels_.size());
      slots_.push_back({peer.bytes, message.bytes});
      peer.bytes += (sizeof(SlotHead) + message.bytes + alignment - 1) / alignment * alignment;
      peer.fingerprint = mixed(peer.fingerprint, message.bytes);
    }
    channels_.push_back({slots_.size() - messages.size(), messages.size()});
  }
  begun_ = std::make_unique<std::atomic<std::uint64_t>[]>(channels_.size());
}

Slot Slots::next(OperationId message) {
  const std::uint32_t channel = channel_of_.at(message.value());
  expect(channel != no_channel, "a message in the direction of the slots");
  const Channel& here = channels_[channel];
  const std::uint64_t number = begun_[channel].fetch_add(1, std::memory_order_relaxed);  // a count; orders nothing
  const Slot& place = slots_[here.first + number % here.count];
  return {place.at, place.bytes, number / here.count + 1};
}

}  // namespace plait::replay
