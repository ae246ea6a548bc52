// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/preload/collectives.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace plait::simulate {
namespace {

/// Of the messages of collective operations; those of the program have the communicator's number alone.
std::uint64_t context_of(const SimulatedCommunicator& communicator) noexcept {
  return std::uint64_t{communicator.number()} | std::uint64_t{1} << 32U;
}

Payload one_part(Bytes data) {
  Parts parts;
  parts.push_back(std::move(data));
  return std::make_shared<const Parts>(std::move(parts));
}

}  // namespace

SimulatedCollective::SimulatedCollective(Messages& messages, SimulatedCommunicator& communicator, Rank self)
    : messages_{messages},
      communicator_{communicator},
      self_{self},
      rank_{communicator.rank_of(self).value()},
      number_{communicator.next_operation(rank_)} {}

void SimulatedCollective::send(std::uint32_t to, Payload data) {
  messages_.send(self_,
                 communicator_.members()[to],
                 context_of(communicator_),
                 static_cast<int>(number_),
                 std::move(data),
                 nullptr);
}

Payload SimulatedCollective::receive(std::uint32_t from) {
  Payload received;
  const auto request = std::make_shared<SimulatedRequest>();
  messages_.receive(self_,
                    {context_of(communicator_), communicator_.members()[from], static_cast<int>(number_)},
                    request,
                    [&received](const Payload& data) { received = data; });
  messages_.wait(self_, *request);
  return received;
}

/// Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988: by dissemination.
void SimulatedCollective::barrier() {
  const Payload nothing = std::make_shared<const Parts>();
  for (std::uint64_t distance = 1; distance < size(); distance *= 2) {
    send(static_cast<std::uint32_t>((rank_ + distance) % size()), nothing);
    (void)receive(static_cast<std::uint32_t>((rank_ + size() - distance) % size()));
  }
}

Payload SimulatedCollective::broadcast(std::uint32_t root, Payload mine) {
  const std::uint32_t from_root = (rank_ + size() - root) % size();
  std::uint64_t distance = 1;
  while (distance < size() && (from_root & distance) == 0) {
    distance *= 2;
  }
  if (from_root != 0) {
    mine = receive(static_cast<std::uint32_t>((rank_ + size() - distance) % size()));
  }
  for (distance /= 2; distance > 0; distance /= 2) {
    if (from_root + distance < size()) {
      send(static_cast<std::uint32_t>((rank_ + distance) % size()), mine);
    }
  }
  return mine;
}

Parts SimulatedCollective::gather(std::uint32_t root, Bytes mine) {
  const std::uint32_t from_root = (rank_ + size() - root) % size();
  Parts parts;
  parts.push_back(std::move(mine));
  for (std::uint64_t distance = 1; distance < size(); distance *= 2) {
    if ((from_root & distance) != 0) {
      send(static_cast<std::uint32_t>((rank_ + size() - distance) % size()),
           std::make_shared<const Parts>(std::move(parts)));
      return {};
    }
    if (from_root + distance < size()) {
      const Payload more = receive(static_cast<std::uint32_t>((rank_ + distance) % size()));
      parts.insert(parts.end(), more->begin(), more->end());
    }
  }
  std::ranges::rotate(parts, parts.end() - static_cast<std::ptrdiff_t>(root));  // the root's part was first
  return parts;
}

Payload SimulatedCollective::all_gather(Bytes mine) {
  Parts parts = gather(0, std::move(mine));
  return broadcast(0, std::make_shared<const Parts>(std::move(parts)));
}

Bytes SimulatedCollective::scatter(std::uint32_t root, Parts parts) {
  if (rank_ != root) {
    return receive(root)->front();
  }
  for (std::uint32_t to = 0; to < size(); ++to) {
    if (to != root) {
      send(to, one_part(std::move(parts[to])));
    }
  }
  return std::move(parts[root]);
}

Bytes SimulatedCollective::reduce(std::uint32_t root, Bytes mine, const Combine& combine) {
  for (std::uint64_t distance = 1; distance < size(); distance *= 2) {  // towards rank 0, in the order of ranks
    if ((rank_ & distance) != 0) {
      send(static_cast<std::uint32_t>(rank_ - distance), one_part(std::move(mine)));
      mine.clear();
      break;
    }
    if (rank_ + distance < size()) {
      mine = combine(mine, receive(static_cast<std::uint32_t>(rank_ + distance))->front());
    }
  }
  if (root == 0) {
    return mine;
  }
  if (rank_ == 0) {
    send(root, one_part(std::move(mine)));
    return {};
  }
  return rank_ == root ? receive(0)->front() : Bytes{};
}

Bytes SimulatedCollective::all_reduce(Bytes mine, const Combine& combine) {
  return broadcast(0, one_part(reduce(0, std::move(mine), combine)))->front();
}

Bytes SimulatedCollective::exclusive_scan(Bytes mine, const Combine& combine) {
  Bytes lower;  // of the ranks below that are combined in `mine`
  for (std::uint64_t distance = 1; distance < size(); distance *= 2) {
    if (rank_ + distance < size()) {
      send(static_cast<std::uint32_t>(rank_ + distance), one_part(mine));
    }
    if (rank_ >= distance) {
      const Bytes received = receive(static_cast<std::uint32_t>(rank_ - distance))->front();
      lower = lower.empty() ? received : combine(received, std::move(lower));
      mine = combine(received, std::move(mine));
    }
  }
  return lower;
}

/// Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", IEEE TPDS 8, 1997.
Parts SimulatedCollective::exchange_small(Parts parts) {
  std::ranges::rotate(parts, parts.begin() + static_cast<std::ptrdiff_t>(rank_));  // by distance to its receiver
  for (std::uint64_t distance = 1; distance < size(); distance *= 2) {
    Parts leaving;
    for (std::uint64_t i = distance; i < size(); ++i) {
      if ((i & distance) != 0) {
        leaving.push_back(std::move(parts[i]));
      }
    }
    send(static_cast<std::uint32_t>((rank_ + distance) % size()), std::make_shared<const Parts>(std::move(leaving)));
    const Payload coming = receive(static_cast<std::uint32_t>((rank_ + size() - distance) % size()));
    auto next = coming->begin();
    for (std::uint64_t i = distance; i < size(); ++i) {
      if ((i & distance) != 0) {
        parts[i] = *next++;
      }
    }
  }
  Parts by_sender(size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    by_sender[(rank_ + size() - i) % size()] = std::move(parts[i]);
  }
  return by_sender;
}

void SimulatedCollective::exchange(Parts parts, const Unpack& unpack, const RequestPointer& request) {
  for (std::uint32_t distance = 1; distance < size(); ++distance) {
    const std::uint32_t from = (rank_ + size() - distance) % size();
    messages_.receive(self_,
                      {context_of(communicator_), communicator_.members()[from], static_cast<int>(number_)},
                      request,
                      [unpack, from](const Payload& data) { unpack(from, data->front()); });
  }
  for (std::uint32_t distance = 1; distance < size(); ++distance) {
    const std::uint32_t to = (rank_ + distance) % size();
    messages_.send(self_,
                   communicator_.members()[to],
                   context_of(communicator_),
                   static_cast<int>(number_),
                   one_part(std::move(parts[to])),
                   request);
  }
  unpack(rank_, parts[rank_]);
}

}  // namespace plait::simulate
