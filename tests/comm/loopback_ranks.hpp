// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::comm::test {

/// The endpoints of several ranks in this process, driven by one thread.
class LoopbackRanks {
 public:
  explicit LoopbackRanks(std::uint32_t count,
                         const EndpointOptions& options = {},
                         const net::LoopbackOptions& network = {})
      : network_{count, network} {
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      drivers_.push_back(network_.driver(Rank{rank}));
      endpoints_.push_back(std::make_unique<Endpoint>(*drivers_.back(), recorder_, options));
    }
  }

  Endpoint& operator[](std::uint32_t rank) { return *endpoints_[rank]; }

  /// Makes progress on all ranks until `is_done()`. Throws when that does not come.
  template <class Done>
  void until(Done is_done) {
    for (int rounds = 0; !is_done(); ++rounds) {
      if (rounds > 1'000'000) {
        throw std::runtime_error{"no end: " + std::to_string(endpoints_[0]->activity().outstanding_count()) +
                                 " operations left on rank 0"};
      }
      progress();
    }
  }

  void progress() {
    for (const auto& endpoint : endpoints_) {
      endpoint->progress();
    }
  }

 private:
  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  net::LoopbackNetwork network_;
  std::vector<std::unique_ptr<net::Driver>> drivers_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

/// `size` bytes that depend on their source and their place.
inline Bytes pattern(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 131 + seed * 7919 + (i >> 8U)) & 0xffU);
  }
  return bytes;
}

}  // namespace plait::comm::test
