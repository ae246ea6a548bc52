// SPDX-License-Identifier: Apache-2.0
// The networks that a runtime chooses from, under MPI: the conformance cases on each, and what is chosen when.
#include "plait/runtime/network.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/memory.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/net/mpi/exchange.hpp"

#include "net/conformance.hpp"
#include "net/conformance_mpi.hpp"

namespace plait {
namespace {

using net::conformance::Case;
using net::conformance::Player;

int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int rank_count() {
  int count = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

/// Even ranks on one host, odd ones on another.
NetworkOptions on_two_hosts(NetworkOptions options = {}) {
  options.host = rank() % 2 == 0 ? "even" : "odd";
  return options;
}

/// With rings for which no machine has the memory.
NetworkOptions without_memory(NetworkOptions options = {}) {
  options.shm.ring_bytes_max = std::size_t{1} << 42U;
  options.shm.ring_memory_bytes_max = std::size_t{1} << 42U;
  return options;
}

constexpr const char* two_addresses = "127.0.0.1,127.0.0.2";

struct Setting {
  std::string name;
  std::function<NetworkOptions()> options;
};
void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

std::vector<Setting> settings() {
  return {
      {"automatic", [] { return NetworkOptions{}; }},
      {"two_hosts", [] { return on_two_hosts(); }},
      {"two_hosts_two_copies", [] { return on_two_hosts({.shm = {.single_copy = net::SingleCopy::never}}); }},
#ifdef PLAIT_WITH_OFI
      {"rails", [] { return NetworkOptions{.network = "ofi", .ofi_address = two_addresses}; }},
#endif
  };
}

class NetworkConformance : public testing::TestWithParam<std::tuple<Setting, Case>> {};

TEST_P(NetworkConformance, holds) {
  const auto& [setting, played] = GetParam();
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<net::Driver> driver = make_network(MPI_COMM_WORLD, setting.options());
  Player player{*driver};
  const net::conformance::Terms terms{.bulk_bytes_max = 2'000'001};
  play_on_mpi(player, played, terms, start, [&] {
    player.poll();
    if (player.arrivals.empty()) {
      std::this_thread::yield();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All,
                         NetworkConformance,
                         testing::Combine(testing::ValuesIn(settings()), testing::ValuesIn(net::conformance::cases())),
                         net::conformance::name_of<NetworkConformance::ParamType>);

std::string name_with(const NetworkOptions& options) {
  return make_network(MPI_COMM_WORLD, options)->name();
}

TEST(Network, uses_shared_memory_alone_on_one_host) {
  EXPECT_TRUE(name_with({}).starts_with("shm"));
  EXPECT_EQ(name_with({}).find("mpi"), std::string::npos);
  EXPECT_TRUE(name_with({.network = "shm"}).starts_with("shm"));
}

TEST(Network, uses_mpi_alone_when_told_so) {
  EXPECT_TRUE(name_with({.network = "mpi"}).starts_with("mpi ("));
}

/// Every rank writes a part of the memory of every rank, and reads the parts of the others there.
TEST(Network, carries_puts_and_gets_of_any_size) {
  for (const NetworkOptions& options :
       {NetworkOptions{.network = "mpi"}, NetworkOptions{.network = "shm"}, on_two_hosts()}) {
    const std::unique_ptr<net::Driver> driver = make_network(MPI_COMM_WORLD, options);
    SteadyClock clock;
    trace::Recorder recorder{clock};
    comm::Endpoint endpoint{*driver, recorder};
    const auto count = static_cast<std::size_t>(rank_count());
    for (const std::size_t size : {std::size_t{8}, std::size_t{5000}, std::size_t{3'000'000}}) {
      const auto value = [&](int writer, int target) { return static_cast<std::byte>(writer * 16 + target + 1); };
      Bytes target(count * size);
      comm::ExposedMemory memory{endpoint, target};
      std::vector<comm::MemoryKey> keys(count);
      const comm::MemoryKey mine = memory.key();
      MPI_Allgather(&mine, sizeof mine, MPI_BYTE, keys.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
      std::vector<Bytes> parts;
      std::vector<comm::Request> puts;
      for (std::size_t to = 0; to < count; ++to) {
        parts.emplace_back(size, value(rank(), static_cast<int>(to)));
        puts.push_back(comm::put(endpoint,
                                 keys[to],
                                 static_cast<std::size_t>(rank()) * size,
                                 parts.back(),
                                 {.is_synchronous = to % 2 == 0}));
      }
      memory.wait(count);
      for (comm::Request& request : puts) {
        request.wait();
      }
      comm::barrier(comm::Group{endpoint}).wait();
      for (std::size_t from = 0; from < count; ++from) {
        Bytes all(count * size);
        comm::get(endpoint, keys[from], 0, all).wait();
        for (std::size_t writer = 0; writer < count; ++writer) {
          const auto part = std::span{all}.subspan(writer * size, size);
          const std::byte expected = value(static_cast<int>(writer), static_cast<int>(from));
          EXPECT_EQ(std::ranges::count(part, expected), static_cast<std::ptrdiff_t>(size));
        }
      }
      comm::barrier(comm::Group{endpoint}).wait();
    }
    endpoint.drain();
  }
}

TEST(Network, refuses_a_name_that_is_not_in_the_table) {
  try {
    static_cast<void>(name_with({.network = "pigeon"}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    EXPECT_NE(std::string{error.what()}.find("PLAIT_NETWORK is 'pigeon'"), std::string::npos) << error.what();
    EXPECT_NE(std::string{error.what()}.find("automatic, mpi, shm, ofi"), std::string::npos) << error.what();
  }
}

/// A driver of its own for each rank: it reaches no other rank.
std::unique_ptr<net::Driver> make_alone(MPI_Comm /*communicator*/, const NetworkOptions& /*options*/) {
  return net::LoopbackNetwork{1}.driver(Rank{0});
}

TEST(Network, may_be_a_made_up_one_by_a_line_in_a_table) {
  constexpr std::array table{NetworkEntry{"alone", make_alone}};
  EXPECT_STREQ(make_network(MPI_COMM_WORLD, {.network = "alone"}, table)->name(), "loopback");
}

TEST(Network, uses_mpi_between_hosts) {
  const std::string name = name_with(on_two_hosts());
  EXPECT_TRUE(name.starts_with("shm")) << name;
  EXPECT_EQ(name.find(" + mpi (") != std::string::npos, rank_count() > 1) << name;
}

TEST(Network, refuses_shared_memory_between_hosts) {
  if (rank_count() == 1) {
    GTEST_SKIP() << "there is one host";
  }
  try {
    static_cast<void>(name_with(on_two_hosts({.network = "shm"})));
    FAIL() << "on all ranks";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    EXPECT_NE(std::string{error.what()}.find("PLAIT_NETWORK=automatic"), std::string::npos) << error.what();
  }
}

TEST(Network, falls_back_to_mpi_together_when_a_rank_lacks_memory) {
  EXPECT_TRUE(name_with(without_memory()).starts_with("mpi ("));
  // On one of two hosts only: the others must not take what they could have.
  const NetworkOptions options = rank() % 2 == 0 ? without_memory(on_two_hosts()) : on_two_hosts();
  EXPECT_TRUE(name_with(options).starts_with("mpi ("));
}

TEST(Network, does_not_fall_back_when_shared_memory_was_asked_for) {
  try {
    static_cast<void>(name_with(without_memory({.network = "shm"})));
    FAIL() << "on all ranks";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
  }
}

#ifdef PLAIT_WITH_OFI
/// The message of the error that all ranks get.
std::string trouble_with_addresses(const std::string& addresses) {
  try {
    return "none: " + name_with({.network = "ofi", .ofi_address = addresses});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    return error.what();
  }
}

TEST(Network, has_a_rail_for_each_address) {
  const std::string name = name_with({.network = "ofi", .ofi_address = two_addresses});
  EXPECT_TRUE(name.starts_with("2 rails (127.0.0.1: ofi (")) << name;
  EXPECT_NE(name.find(", 127.0.0.2: ofi ("), std::string::npos) << name;
  EXPECT_TRUE(name_with({.network = "ofi", .ofi_address = "127.0.0.1"}).starts_with("ofi ("));
}

TEST(Network, refuses_lists_of_addresses_that_are_no_rails) {
  for (const char* const list : {"lo,", ",lo", "lo,lo", "a,b,c,d,e,f,g,h,i"}) {
    const std::string trouble = trouble_with_addresses(list);
    EXPECT_NE(trouble.find(list), std::string::npos) << trouble;
    EXPECT_NE(trouble.find("2 to 8 different ones"), std::string::npos) << trouble;
  }
}

TEST(Network, refuses_an_address_that_one_rank_does_not_have) {
  const std::string trouble = trouble_with_addresses(rank() == 0 ? "127.0.0.1,203.0.113.7" : two_addresses);
  EXPECT_NE(trouble.find("rank 0 cannot use \"203.0.113.7\""), std::string::npos) << trouble;
}

TEST(Network, refuses_ranks_with_different_numbers_of_rails) {
  if (rank_count() == 1) {
    GTEST_SKIP() << "there is one rank";  // which has no other whose number of rails could differ
  }
  const std::string trouble = trouble_with_addresses(rank() == 1 ? two_addresses : "127.0.0.1");
  EXPECT_NE(trouble.find("has 1 on rank 0 and 2 on rank 1"), std::string::npos) << trouble;
}
#endif

TEST(MpiExchange, brings_what_each_rank_gave_of_any_length) {
  const std::string mine(static_cast<std::size_t>(rank()) * 1000, static_cast<char>('a' + rank()));
  const std::vector<Bytes> all = net::mpi_exchange(MPI_COMM_WORLD)(std::as_bytes(std::span{mine}));
  ASSERT_EQ(all.size(), static_cast<std::size_t>(rank_count()));
  for (std::size_t peer = 0; peer < all.size(); ++peer) {
    EXPECT_EQ(all[peer], Bytes(peer * 1000, static_cast<std::byte>('a' + peer)));
  }
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  return plait::net::conformance::run_tests_on_mpi(argc, argv);
}
