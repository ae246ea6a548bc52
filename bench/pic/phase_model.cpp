// SPDX-License-Identifier: Apache-2.0
#include "pic/phase_model.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <queue>

#include "plait/net/driver.hpp"

namespace bench {
namespace {

using plait::nanoseconds;
using plait::Rank;
namespace balance = plait::data::balance;
namespace net = plait::net;

struct Parcel {
  std::uint32_t to;
  std::size_t bytes;
};

class Phase {
 public:
  Phase(const balance::Problem& problem, const balance::Placement& placement, const net::LogGP& cost)
      : network_{problem.rank_count, {.cost = cost}}, ranks_(problem.rank_count) {
    for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
      ranks_[rank].driver = network_.driver(Rank{rank});
    }
    parcels_.resize(problem.objects.size());
    for (const balance::Edge& edge : problem.edges) {
      for (const auto& [from, to] : {std::pair{edge.first, edge.second}, std::pair{edge.second, edge.first}}) {
        if (placement[from] != placement[to]) {
          cut(from, placement[to].value(), static_cast<std::size_t>(edge.bytes / 2) + header_bytes);
        }
      }
    }
    for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
      ranks_[placement[i].value()].work.push_back(
          {i, std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>{problem.objects[i].load})});
    }
  }

  double operator()() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      begin_next(rank);
    }
    while (!ends_.empty() || unsent_ > 0 || arrived_ < sent_) {
      const nanoseconds next = ends_.empty() ? network_.clock().now() + poll_every : ends_.top().first;
      network_.advance_to(std::min(next, network_.clock().now() + poll_every));
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        if (!ranks_[rank].is_busy) {
          poll(rank);
        }
      }
      while (!ends_.empty() && ends_.top().first <= network_.clock().now()) {
        const std::uint32_t rank = ends_.top().second;
        ends_.pop();
        end_one(rank);
      }
    }
    return std::chrono::duration<double>(network_.clock().now()).count();
  }

 private:
  static constexpr nanoseconds poll_every{20'000};
  static constexpr std::size_t header_bytes = 88;  // of the endpoint and the collection

  struct Task {
    std::uint32_t object;
    nanoseconds took;
  };
  struct Member {
    std::unique_ptr<net::Driver> driver;
    std::deque<Task> work;
    std::deque<Parcel> out;
    bool is_busy = false;
  };

  void cut(std::uint32_t object, std::uint32_t to, std::size_t bytes) {
    const std::size_t most = ranks_[0].driver->packet_bytes_max();
    for (; bytes > 0; bytes -= std::min(bytes, most)) {
      parcels_[object].push_back({to, std::min(bytes, most)});
    }
  }
  void begin_next(std::uint32_t rank) {
    Member& member = ranks_[rank];
    member.is_busy = !member.work.empty();
    if (member.is_busy) {
      ends_.emplace(network_.clock().now() + member.work.front().took, rank);
    }
  }
  void end_one(std::uint32_t rank) {
    Member& member = ranks_[rank];
    const std::vector<Parcel>& parcels = parcels_[member.work.front().object];
    member.work.pop_front();
    member.out.insert(member.out.end(), parcels.begin(), parcels.end());
    unsent_ += parcels.size();
    poll(rank);
    begin_next(rank);
  }
  void poll(std::uint32_t rank) {
    Member& member = ranks_[rank];
    std::array<net::Arrival, 64> arrivals;
    for (;;) {
      const std::size_t count = member.driver->poll(arrivals, {}).arrivals;
      for (std::size_t i = 0; i < count; ++i) {
        member.driver->recycle(std::move(arrivals[i].packet));
      }
      arrived_ += count;
      if (count < arrivals.size()) {
        break;
      }
    }
    while (!member.out.empty()) {
      net::Packet packet = member.driver->acquire();
      packet.resize(member.out.front().bytes);
      std::fill_n(packet.data(), packet.size(), std::byte{0});
      if (member.driver->send(Rank{member.out.front().to}, std::move(packet)) == net::Post::retry) {
        member.driver->recycle(std::move(packet));
        return;
      }
      member.out.pop_front();
      --unsent_;
      ++sent_;
    }
  }

  net::SimNetwork network_;
  std::vector<Member> ranks_;
  std::vector<std::vector<Parcel>> parcels_;  ///< By object: the messages that it sends at its end.
  using End = std::pair<nanoseconds, std::uint32_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t unsent_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t arrived_ = 0;
};

}  // namespace

double modelled_phase(const balance::Problem& problem, const balance::Placement& placement, const net::LogGP& network) {
  return Phase{problem, placement, network}();
}

}  // namespace bench
