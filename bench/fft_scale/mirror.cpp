// SPDX-License-Identifier: Apache-2.0
#include "fft_scale/mirror.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "plait/base/error.hpp"

namespace fft_scale {

using plait::nanoseconds;
using plait::net::Packet;
using plait::net::Post;

Packet MirrorDriver::acquire() {
  if (spare_.empty()) {
    return Packet{options_.packet_bytes_max};
  }
  Packet packet = std::move(spare_.back());
  spare_.pop_back();
  packet.resize(0);
  return packet;
}

void MirrorDriver::recycle(Packet&& packet) noexcept {
  spare_.push_back(std::move(packet));
}

std::size_t MirrorDriver::count_on_wire() const noexcept {
  const auto first = std::ranges::upper_bound(on_their_way_, clock_.now(), {}, &OnItsWay::comes_in);
  return static_cast<std::size_t>(on_their_way_.end() - first);
}

Post MirrorDriver::send(plait::Rank to, Packet&& packet) {
  plait::expect(to != self(), "what a rank sends to itself has no mirror image");
  if (count_on_wire() >= options_.send_queue_packets_max) {
    return Post::retry;
  }
  const plait::net::LogGP& cost = options_.cost;
  const nanoseconds bytes{std::llround(static_cast<double>(packet.size() - 1) * cost.per_byte_ns)};
  const nanoseconds start = std::max(clock_.now(), out_free_);
  const nanoseconds comes_in = start + cost.overhead + cost.latency;
  out_free_ = start + std::max(cost.overhead, cost.gap) + bytes;
  const nanoseconds in = std::max(comes_in, in_free_);
  in_free_ = in + std::max(cost.overhead, cost.gap) + bytes;
  const plait::Rank behind{rank_count_ - to.value()};
  on_their_way_.push_back({comes_in, in + bytes + cost.overhead, {behind, std::move(packet)}});
  return Post::posted;
}

Post MirrorDriver::send_bulk(const plait::net::BulkSend& /*bulk*/) {
  throw plait::Error{plait::ErrorCode::bad_argument, "the mirror moves packets only: use shorter messages"};
}

Post MirrorDriver::receive_bulk(const plait::net::BulkReceive& /*bulk*/) {
  throw plait::Error{plait::ErrorCode::bad_argument, "the mirror moves packets only: use shorter messages"};
}

std::optional<nanoseconds> MirrorDriver::next_event() const noexcept {
  const nanoseconds now = clock_.now();
  const auto next = [&](auto time) -> std::optional<nanoseconds> {
    const auto found = std::ranges::upper_bound(on_their_way_, now, {}, time);
    return found == on_their_way_.end() ? std::nullopt : std::optional{std::invoke(time, *found)};
  };
  const std::optional<nanoseconds> leaves = next(&OnItsWay::comes_in);
  const std::optional<nanoseconds> here = next(&OnItsWay::here);
  return leaves && here ? std::min(leaves, here) : std::max(leaves, here);  // nothing is less than anything
}

plait::net::Polled MirrorDriver::poll(std::span<plait::net::Arrival> arrivals,
                                      std::span<plait::net::BulkDone> /*bulk*/) {
  std::size_t count = 0;
  while (count < arrivals.size() && !on_their_way_.empty() && on_their_way_.front().here <= clock_.now()) {
    arrivals[count++] = std::move(on_their_way_.front().arrival);
    on_their_way_.pop_front();
  }
  return {count, 0};
}

}  // namespace fft_scale
