// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"

namespace plait::replay {

/// What a replay does in place of the program's computing.
enum class Computing : std::uint8_t {
  keep,  ///< The thread is busy as long as in the log, and does not poll the network.
  drop,  ///< Nothing.
};

enum class Payload : std::uint8_t {
  unset,    ///< The bytes sent are not checked.
  checked,  ///< Each message has a pattern of its own, which the receiver compares.
};

/// The roles of one thread of a replay.
struct Roles {
  bool injects = false;         ///< Starts all operations, in the order of the log, and waits as the log does.
  bool polls_sends = false;     ///< Tests the sends in flight.
  bool polls_receives = false;  ///< Tests the receives in flight.
  friend bool operator==(const Roles&, const Roles&) = default;
};

/// How a schedule is played; equal on all ranks.
struct PlayOptions {
  Computing computing = Computing::keep;
  /// An operation starts no earlier than its time in the log divided by this; computing is divided by it too. 0: no
  /// operation waits for its time.
  double rate = 0;
  nanoseconds delay{};  ///< Added before each send.
  /// Exactly one injects. Empty: one thread for each stream, with all roles.
  std::vector<Roles> threads{{true, true, true}};
  Payload payload = Payload::unset;

  /// Whether several threads call the backend, in a part with this number of streams.
  [[nodiscard]] bool has_several_threads(std::size_t streams) const noexcept {
    return threads.empty() ? streams > 1 : threads.size() > 1;
  }
};

/// Parses threads separated by commas, with roles joined by plus signs: "inject,sends,receives". The first thread takes
/// the roles that are missing. "one" is one thread with all roles, "streams" one for each stream. Error:
/// `bad_argument`.
[[nodiscard]] Result<std::vector<Roles>> threads_from(std::string_view text);

/// Parses "max" (0), "logged" (1), or a factor above 0. Error: `bad_argument`.
[[nodiscard]] Result<double> rate_from(std::string_view text);

}  // namespace plait::replay
