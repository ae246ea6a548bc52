// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/player.hpp"

#include <utility>

#include "plait/replay/detail/play_thread.hpp"

namespace plait::replay {

Player::Player(Backend& backend, const RankPart& part, PlayOptions options)
    : state_{std::make_unique<detail::PlayState>(backend, part, std::move(options))} {}

Player::~Player() = default;

Played Player::play(trace::Recorder& recorder) {
  return detail::play(*state_, recorder);
}

std::uint64_t Player::moved() const noexcept {
  return state_->signals.moved.load(std::memory_order_relaxed);  // a hint; orders nothing
}

std::string Player::describe_waiting() const {
  return state_->describe_waiting();
}

}  // namespace plait::replay
