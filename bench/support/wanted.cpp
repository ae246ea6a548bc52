// SPDX-License-Identifier: Apache-2.0
#include "support/wanted.hpp"

#include <utility>

#include <fmt/format.h>

namespace bench {

bool Wanted::is_reached_by(double median) const noexcept {
  return limit == Limit::at_most ? median <= value : median >= value;
}

std::string Wanted::in_words() const {
  return fmt::format("{} {:.4g}", limit == Limit::at_most ? "<=" : ">=", value);
}

Wanted at_most(double value, std::string basis) {
  return {.limit = Wanted::Limit::at_most, .value = value, .basis = std::move(basis)};
}

Wanted at_least(double value, std::string basis) {
  return {.limit = Wanted::Limit::at_least, .value = value, .basis = std::move(basis)};
}

Wanted at_most_of_peer(double factor) {
  return {.limit = Wanted::Limit::at_most, .value = factor, .is_of_peer = true};
}

Wanted at_least_of_peer(double factor) {
  return {.limit = Wanted::Limit::at_least, .value = factor, .is_of_peer = true};
}

Wanted stricter(const Wanted& one, const Wanted& other) {
  return one.is_reached_by(other.value) ? other : one;
}

std::optional<Wanted> resolved(Wanted wanted, const std::string& peer, const std::optional<double>& peer_value) {
  if (!wanted.is_of_peer) {
    return wanted;
  }
  if (!peer_value) {
    return std::nullopt;
  }
  wanted.basis = wanted.value == 1 ? peer : fmt::format("{:.4g} x {}", wanted.value, peer);
  wanted.value *= *peer_value;
  wanted.is_of_peer = false;
  return wanted;
}

}  // namespace bench
