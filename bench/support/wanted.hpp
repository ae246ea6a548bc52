// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bench {

/// The figure that the median of a row is wanted to reach: a value of the row's unit, or a multiple of what its peer
/// takes in the same run.
struct Wanted {
  enum class Limit : std::uint8_t { at_most, at_least };

  Limit limit = Limit::at_most;
  double value = 0;         ///< In the row's unit; a factor if `is_of_peer`.
  std::string basis = {};   ///< Where the value comes from, as "1.2 x raw MPI"; empty for a plain value.
  bool is_of_peer = false;  ///< Becomes a value when `Report::add` knows the peer.

  /// Expects: not `is_of_peer`.
  [[nodiscard]] bool is_reached_by(double median) const noexcept;
  /// As in a table: "<= 0.3".
  [[nodiscard]] std::string in_words() const;
};

[[nodiscard]] Wanted at_most(double value, std::string basis = {});
[[nodiscard]] Wanted at_least(double value, std::string basis = {});
[[nodiscard]] Wanted at_most_of_peer(double factor);
[[nodiscard]] Wanted at_least_of_peer(double factor);

/// The one that is harder to reach, of two with the same limit.
///
/// Expects: neither `is_of_peer`.
[[nodiscard]] Wanted stricter(const Wanted& one, const Wanted& other);

/// `wanted` with the value that its factor gives; nothing if that needs a peer, and there is none.
[[nodiscard]] std::optional<Wanted> resolved(Wanted wanted,
                                             const std::string& peer,
                                             const std::optional<double>& peer_value);

}  // namespace bench
