// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/multicast_tree.hpp"

#include <algorithm>

namespace plait::comm::detail {

std::vector<Branch> branches(std::span<const wire::Stop> stops, std::size_t stops_max) {
  std::vector<std::size_t> rooms;  // how many stops each branch still takes
  for (std::size_t left = stops.size(); left > 0;) {
    const std::size_t size = std::min((left + 1) / 2, stops_max + 1);
    rooms.push_back(size - 1);
    left -= size;
  }
  std::vector<Branch> all(rooms.size());
  for (std::size_t index = 0; index < all.size(); ++index) {
    all[index].to = stops[index];
    all[index].stops.reserve(rooms[index]);
  }
  std::size_t index = 0;
  for (const wire::Stop& stop : stops.subspan(all.size())) {
    while (all[index].stops.size() == rooms[index]) {
      index = (index + 1) % all.size();
    }
    all[index].stops.push_back(stop);
    index = (index + 1) % all.size();
  }
  return all;
}

}  // namespace plait::comm::detail
