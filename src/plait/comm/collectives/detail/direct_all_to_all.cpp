// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/detail/posted_exchange.hpp"

namespace plait::comm::detail {

Request direct_all_to_all(AllToAll exchange) {
  const std::size_t size = exchange.call.size();
  std::vector<std::size_t> order;
  for (std::size_t distance = 1; distance < size; ++distance) {
    order.push_back(exchange.call.after(distance));  // or everybody would send to the first one first
  }
  return posted_exchange(std::move(exchange), std::move(order), size);
}

}  // namespace plait::comm::detail
