// SPDX-License-Identifier: Apache-2.0
#include "plait/base/random.hpp"
#include "plait/comm/collectives/detail/posted_exchange.hpp"

namespace plait::comm::detail {

Request random_all_to_all(AllToAll exchange) {
  const std::size_t size = exchange.call.size();
  std::vector<std::size_t> order;
  for (std::size_t distance = 1; distance < size; ++distance) {
    order.push_back(exchange.call.after(distance));
  }
  // Another seed on each rank, and Fisher and Yates by hand: <random>'s shuffle differs between libraries.
  Random random{exchange.options.seed + exchange.call.endpoint().self().value() * std::uint64_t{0x9E37'79B9}};
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left)]);
  }
  const std::size_t sends_max = exchange.options.in_flight_max;
  return posted_exchange(std::move(exchange), std::move(order), sends_max);
}

}  // namespace plait::comm::detail
