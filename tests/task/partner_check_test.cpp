// SPDX-License-Identifier: Apache-2.0
#include "plait/task/partner_check.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"

namespace plait::task::partner_check_test {
namespace {

/// Some ranks, each with a graph of messages without data.
class CheckedRanks : public testing::Test {
 protected:
  struct OneRank {
    OneRank(net::LoopbackNetwork& network, Rank self) : driver{network.driver(self)} {}

    OneRank& sends(std::uint32_t to,
                   std::uint64_t tag,
                   const std::string& kind = "send",
                   comm::CommId comm = comm::world) {
      graph.send(kind, {Rank{to}, Tag{tag}, comm}, [] { return std::span<const std::byte>{}; });
      return *this;
    }
    OneRank& receives(Rank from, Tag tag, const std::string& kind = "receive", comm::CommId comm = comm::world) {
      graph.receive(kind, {from, tag, comm}, buffer);
      return *this;
    }
    OneRank& receives(std::uint32_t from, std::uint64_t tag, const std::string& kind = "receive") {
      return receives(Rank{from}, Tag{tag}, kind);
    }

    SteadyClock clock;
    trace::Recorder recorder{clock};
    std::unique_ptr<net::Driver> driver;
    comm::Endpoint endpoint{*driver, recorder};
    Bytes buffer;
    Graph graph;
    std::string said;
  };

  explicit CheckedRanks(std::uint32_t count = 3) : network_{count} {
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      ranks_.push_back(std::make_unique<OneRank>(network_, Rank{rank}));
    }
  }
  OneRank& operator[](std::size_t rank) { return *ranks_[rank]; }

  void on_all(const std::function<void(OneRank&)>& use) {
    std::vector<std::jthread> threads;
    for (const auto& rank : ranks_) {
      threads.emplace_back([&] { use(*rank); });
    }
  }
  /// The error of each rank.
  void check() {
    on_all([](OneRank& rank) {
      try {
        check_partners(rank.endpoint, rank.graph, rank.graph.all());
        rank.said = "";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_argument);
        rank.said = error.what();
      }
    });
  }
  std::string said(std::size_t rank) { return ranks_[rank]->said; }

  net::LoopbackNetwork network_;
  std::vector<std::unique_ptr<OneRank>> ranks_;
};

constexpr const char* question = ". Do both ranks decide by the same data what is active?";

TEST_F(CheckedRanks, say_nothing_when_each_message_has_its_partner) {
  (*this)[0].sends(1, 7).sends(1, 7).sends(2, 7).receives(2, 9).sends(0, 1).receives(0, 1);
  (*this)[1].receives(0, 7).receives(0, 7);
  (*this)[2].receives(0, 7).sends(0, 9);
  (*this)[0].graph.task("other", [] {});
  for (int again = 0; again < 3; ++again) {
    check();
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(said(rank), "");
    }
  }
}

TEST_F(CheckedRanks, name_on_both_sides_a_send_without_a_receive) {
  (*this)[0].sends(1, 7, "send halo").sends(1, 8);
  (*this)[1].receives(0, 8);
  check();
  const std::string name = "from rank 0 to rank 1 with tag 7: 1 send ('send halo'), 0 receives";
  EXPECT_EQ(said(0), "rank 0 has 1 message without a partner: " + name + question);
  EXPECT_EQ(said(1), "rank 1 has 1 message without a partner: " + name + question);
  EXPECT_EQ(said(2), "messages of other ranks lack a partner: see the error of rank 0");
}

TEST_F(CheckedRanks, name_on_both_sides_a_receive_without_a_send) {
  (*this)[2].receives(1, 5, "wait").receives(1, 5, "wait");
  (*this)[1].sends(2, 5, "give");
  check();
  const std::string name = "from rank 1 to rank 2 with tag 5: 1 send ('give'), 2 receives ('wait')";
  EXPECT_EQ(said(1), "rank 1 has 1 message without a partner: " + name + question);
  EXPECT_EQ(said(2), "rank 2 has 1 message without a partner: " + name + question);
  EXPECT_EQ(said(0), "messages of other ranks lack a partner: see the error of rank 1");
}

TEST_F(CheckedRanks, tell_apart_communicators_and_messages_to_oneself) {
  (*this)[0].sends(1, 5, "send", comm::CommId{3}).sends(0, 4, "own");
  (*this)[1].receives(0, 5);
  check();
  EXPECT_NE(said(1).find("with tag 5: 0 sends, 1 receive ('receive')"), std::string::npos) << said(1);
  EXPECT_NE(said(1).find("with tag 5 in communicator 3: 1 send ('send'), 0 receives"), std::string::npos) << said(1);
  EXPECT_NE(said(0).find("rank 0 has 3 messages without a partner: "), std::string::npos) << said(0);
  EXPECT_NE(said(0).find("from rank 0 to rank 0 with tag 4: 1 send ('own'), 0 receives"), std::string::npos) << said(0);
}

TEST_F(CheckedRanks, let_receives_from_any_rank_or_with_any_tag_take_what_is_left) {
  (*this)[0].sends(2, 1).sends(2, 2).sends(2, 3);
  (*this)[1].sends(2, 1).sends(2, 4);
  (*this)[2].receives(0, 1).receives(Rank{0}, any_tag).receives(any_source, Tag{3}).receives(any_source, Tag{1});
  (*this)[2].receives(any_source, any_tag);
  check();
  EXPECT_EQ(said(2), "");
  (*this)[2].receives(any_source, any_tag, "listen");
  check();
  EXPECT_EQ(
      said(2),
      std::string{"rank 2 has 1 message without a partner: from any rank to rank 2 with any tag: 0 sends, 1 receive "
                  "('listen')"} +
          question);
  EXPECT_EQ(said(0), "messages of other ranks lack a partner: see the error of rank 2");
}

TEST_F(CheckedRanks, look_at_active_tasks_only) {
  (*this)[0].sends(1, 1, "first").sends(1, 2, "second");
  (*this)[1].receives(0, 1);
  on_all([](OneRank& rank) {
    const auto active = rank.endpoint.self() == Rank{0} ? rank.graph.all().first(1) : rank.graph.all();
    EXPECT_TRUE(find_lonely_messages(rank.endpoint, rank.graph, active).empty());
  });
}

class ManyRanks : public CheckedRanks {
 protected:
  ManyRanks() : CheckedRanks{5} {}
};

TEST_F(ManyRanks, find_exactly_what_was_left_out) {
  std::mt19937 random{11};
  std::vector<std::string> expected;
  for (int message = 0; message < 400; ++message) {
    const auto from = static_cast<std::uint32_t>(random() % 5);
    const auto to = static_cast<std::uint32_t>(random() % 5);
    const auto tag = static_cast<std::uint64_t>(message);
    const bool is_sent = random() % 20 != 0;
    const bool is_received = random() % 20 != 0;
    if (is_sent) {
      (*this)[from].sends(to, tag);
    }
    if (is_received) {
      (*this)[to].receives(from, tag);
    }
    if (is_sent != is_received) {
      const LonelyMessage lonely{.source = Rank{from},
                                 .destination = Rank{to},
                                 .tag = Tag{tag},
                                 .comm = comm::world,
                                 .send_count = is_sent ? 1U : 0U,
                                 .receive_count = is_received ? 1U : 0U,
                                 .send_kind = is_sent ? "send" : "",
                                 .receive_kind = is_received ? "receive" : ""};
      expected.push_back(to_string(lonely));
      if (from != to) {
        expected.push_back(to_string(lonely));  // both name it
      }
    }
  }
  std::mutex mutex;
  std::vector<std::string> found;
  on_all([&](OneRank& rank) {
    for (const LonelyMessage& lonely : find_lonely_messages(rank.endpoint, rank.graph, rank.graph.all())) {
      EXPECT_TRUE(lonely.source == rank.endpoint.self() || lonely.destination == rank.endpoint.self());
      const std::lock_guard lock{mutex};
      found.push_back(to_string(lonely));
    }
  });
  std::ranges::sort(expected);
  std::ranges::sort(found);
  EXPECT_GT(expected.size(), 20U);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace plait::task::partner_check_test
