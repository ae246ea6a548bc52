// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plait/plait.hpp"
#include "plait/testing/local_rank.hpp"

#include "pic/ranks.hpp"

namespace pic::test {

/// The ranks of a network within this process.
class LocalRanks final : public Ranks {
 public:
  explicit LocalRanks(plait::comm::Endpoint& messages) : messages_{messages}, group_{messages} {}

  [[nodiscard]] int self() const noexcept override { return static_cast<int>(messages_.self().value()); }
  [[nodiscard]] int count() const noexcept override { return static_cast<int>(messages_.rank_count()); }
  void exchange(std::span<plait::Bytes> out, std::span<plait::Bytes> in) override {
    exchange(out, in, [&](const plait::comm::Address& from, plait::Bytes& bytes) {
      return messages_.receive(from, std::span{bytes});  // an error when the sender has another length
    });
  }
  void exchange_unknown(std::span<plait::Bytes> out, std::span<plait::Bytes> in) override {
    exchange(
        out, in, [&](const plait::comm::Address& from, plait::Bytes& bytes) { return messages_.receive(from, bytes); });
  }
  void sum(std::span<std::int64_t> values) override {
    // As unsigned numbers, whose overflow is defined.
    const std::span all{reinterpret_cast<std::uint64_t*>(values.data()), values.size()};
    plait::comm::all_reduce(group_, all).wait();
  }
  [[nodiscard]] double max(double value) override {
    plait::comm::all_reduce(group_, std::span{&value, 1}, plait::comm::Maximum{}).wait();
    return value;
  }

 private:
  template <class Receive>
  void exchange(std::span<plait::Bytes> out, std::span<plait::Bytes> in, const Receive& receive) {
    std::vector<plait::comm::Request> requests;
    for (std::uint32_t rank = 0; rank < in.size(); ++rank) {
      const plait::comm::Address peer{plait::Rank{rank}, plait::Tag{1}};
      requests.push_back(receive(peer, in[rank]));
      requests.push_back(messages_.send(peer, out[rank]));
    }
    for (plait::comm::Request& request : requests) {
      request.wait();
    }
  }

  plait::comm::Endpoint& messages_;
  plait::comm::Group group_;
};

/// Runs `work` as each of so many ranks.
inline void on_ranks(int count, const std::function<void(Ranks&)>& work) {
  plait::test::run_on_ranks(
      {.ranks = static_cast<std::uint32_t>(count)}, {.worker_count = 1}, [&](plait::test::LocalRank& rank) {
        LocalRanks ranks{rank.messages()};
        work(ranks);
      });
}

}  // namespace pic::test
