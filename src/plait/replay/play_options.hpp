// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"

namespace plait::replay {

/// What becomes of the program's own work between the messages.
enum class Computing : std::uint8_t {
  keep,  ///< The thread is busy for as long as logged, and does not poll the network.
  drop,  ///< Is left out.
};

enum class Payload : std::uint8_t {
  unset,    ///< The bytes sent are not checked.
  checked,  ///< Each message has bytes of its own, which the receiver compares.
};

/// What one thread of a replay does.
struct Roles {
  bool injects = false;         ///< Begins everything, in logged order, and waits where the log does.
  bool polls_sends = false;     ///< Tests the sends under way.
  bool polls_receives = false;  ///< Tests the receives under way.
  friend bool operator==(const Roles&, const Roles&) = default;
};

/// How a schedule is played; the same on all ranks.
struct PlayOptions {
  Computing computing = Computing::keep;
  /// An operation begins no sooner than its logged time divided by this; 0: as soon as the one before it lets it. What
  /// is computed is shortened by it as well.
  double rate = 0;
  nanoseconds delay{};  ///< Before each send, on top.
  /// One of them injects. Empty: one thread for each stream, which does all for it.
  std::vector<Roles> threads{{true, true, true}};
  Payload payload = Payload::unset;

  /// Whether several threads of a rank, which has so many streams at most, call the backend.
  [[nodiscard]] bool has_several_threads(std::size_t streams) const noexcept {
    return threads.empty() ? streams > 1 : threads.size() > 1;
  }
};

/// From text: threads separated by commas, the roles of each by plus signs, "inject,sends,receives" or
/// "inject+sends,receives"; one that is left out is the first thread's. "one" is one thread for all, "streams" one for
/// each stream of the log. Error: `bad_argument`.
[[nodiscard]] Result<std::vector<Roles>> threads_from(std::string_view text);

/// From text: "max" (0), "logged" (1), or a factor above 0. Error: `bad_argument`.
[[nodiscard]] Result<double> rate_from(std::string_view text);

}  // namespace plait::replay
