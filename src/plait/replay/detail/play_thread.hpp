// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/replay/detail/play_state.hpp"
#include "plait/replay/player.hpp"

namespace plait::replay::detail {

/// Plays the part once, on the threads that its options ask for, the first of which is the caller's.
[[nodiscard]] Played play(PlayState& state, trace::Recorder& recorder);

}  // namespace plait::replay::detail
