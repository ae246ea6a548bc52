// SPDX-License-Identifier: Apache-2.0
// Every variant of the exchange that calls MPI brings the right bytes: among all ranks, in rows and in columns, with
// blocks of different lengths and none, several exchanges in flight, round after round.
#include "plait/fft/mpi/variants.hpp"

#include <array>
#include <bit>
#include <complex>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "plait/fft/execution.hpp"
#include "plait/net/mpi/session.hpp"
#include "plait/runtime/runtime.hpp"

namespace plait::fft {
namespace {

/// What `source` sends to `destination`, both numbered in the whole run: nothing to oneself, and to some others.
std::size_t length_of(std::size_t source, std::size_t destination, std::size_t exchange) {
  if (source == destination || (source * 3 + destination + exchange) % 4 == 0) {
    return 0;
  }
  return 16 * (1 + 7 * source + 300 * ((destination + exchange) % 3));
}

/// Differs by source, destination and round.
unsigned char value_of(std::size_t source, std::size_t destination, std::size_t round, std::size_t index) {
  return static_cast<unsigned char>(source * 67 + destination * 29 + round * 11 + index * 3 + index / 256);
}

/// One exchange of a group in use.
class Rounds {
 public:
  Rounds(const Variant& variant, comm::Group group, std::size_t number) : group_{std::move(group)}, number_{number} {
    BlockBytes bytes;
    for (std::size_t member = 0; member < group_.size(); ++member) {
      bytes.to.push_back(length_of(self(), rank(member), number_));
      bytes.from.push_back(length_of(rank(member), self(), number_));
    }
    exchange_ = variant.make(group_, bytes);
  }

  void start(std::size_t round) {
    for (std::size_t member = 0; member < group_.size(); ++member) {
      const std::span<std::byte> block = exchange_->to(member);
      ASSERT_EQ(block.size(), length_of(self(), rank(member), number_));
      EXPECT_EQ(std::bit_cast<std::uintptr_t>(block.data()) % 64, 0U);
      for (std::size_t index = 0; index < block.size(); ++index) {
        block[index] = std::byte{value_of(self(), rank(member), round + number_, index)};
      }
    }
    exchange_->start();
  }
  void advance() { exchange_->advance(); }
  void finish(std::size_t round) {
    exchange_->wait();
    for (std::size_t member = 0; member < group_.size(); ++member) {
      const std::span<const std::byte> block = exchange_->from(member);
      ASSERT_EQ(block.size(), length_of(rank(member), self(), number_));
      for (std::size_t index = 0; index < block.size(); ++index) {
        ASSERT_EQ(block[index], std::byte{value_of(rank(member), self(), round + number_, index)})
            << "byte " << index << " from rank " << rank(member) << " in round " << round;
      }
    }
  }

 private:
  [[nodiscard]] std::size_t self() const { return rank(group_.self()); }
  [[nodiscard]] std::size_t rank(std::size_t member) const { return group_.rank(member).value(); }

  comm::Group group_;
  std::size_t number_;
  std::unique_ptr<Exchange> exchange_;
};

/// Rows of 1, of 2 and of 3 ranks, where that divides; the columns beside them.
std::vector<comm::Group> groups_of(Runtime& runtime) {
  std::vector<comm::Group> groups;
  const std::uint32_t ranks = runtime.rank_count();
  std::uint32_t comm = 1;
  for (const std::uint32_t columns : {1U, 2U, 3U}) {
    if (ranks % columns == 0) {
      const comm::GroupGrid grid{.rows = ranks / columns, .columns = columns};
      groups.push_back(comm::row_group(runtime.messages(), grid, comm::CommId{comm++}));
      groups.push_back(comm::column_group(runtime.messages(), grid, comm::CommId{comm++}));
    }
  }
  return groups;
}

TEST(MpiVariants, bring_every_block_to_its_place_with_several_exchanges_in_flight) {
  Runtime runtime{MPI_COMM_WORLD};
  std::set<std::string> left_out;
  for (const Variant& variant : mpi::variants(MPI_COMM_WORLD, {.chunk_bytes = 1000})) {
    SCOPED_TRACE(variant.name);
    for (const comm::Group& group : groups_of(runtime)) {
      std::vector<std::unique_ptr<Rounds>> in_flight;
      try {
        for (std::size_t number = 0; number < 3; ++number) {
          in_flight.push_back(std::make_unique<Rounds>(variant, group, number));
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::network);
        EXPECT_TRUE(variant.name == "PIB" || variant.name == "PIN") << error.what();  // all else works on one node
        left_out.insert(variant.name);
        continue;
      }
      for (std::size_t round = 0; round < 3; ++round) {
        for (const auto& rounds : in_flight) {
          rounds->start(round);
        }
        for (int batch = 0; batch < 4; ++batch) {
          in_flight[batch % 3]->advance();
        }
        for (const auto& rounds : in_flight) {
          rounds->finish(round);
        }
      }
    }
  }
  EXPECT_TRUE(left_out.empty() || left_out == (std::set<std::string>{"PIB", "PIN"}));
}

TEST(MpiVariants, are_chosen_from_alike_on_all_ranks_and_the_plan_transforms_by_what_was_chosen) {
  Runtime runtime{MPI_COMM_WORLD};
  PlanOptions options{.effort = Effort::estimate, .variant = "automatic", .more = mpi::variants(MPI_COMM_WORLD)};
  const Plan plan{runtime.messages(), runtime.scheduler(), {12, 9, 10}, options};
  std::array<char, 4> name{};
  plan.variant().copy(name.data(), 3);
  std::array<char, 4> first = name;
  MPI_Bcast(first.data(), 4, MPI_CHAR, 0, MPI_COMM_WORLD);
  EXPECT_EQ(first, name);
  const std::vector<double> ones(static_cast<std::size_t>(plan.physical().size()), 1.0);
  std::vector<std::complex<double>> modes(static_cast<std::size_t>(plan.spectral().size()));
  Execution forward{plan, ones, modes};
  forward.run();
  const IndexBox& box = plan.spectral().box;
  const bool has_mean = !box.is_empty() && box.low == std::array<Index, 3>{};
  for (std::size_t mode = 0; mode < modes.size(); ++mode) {
    EXPECT_NEAR(std::abs(modes[mode]), has_mean && mode == 0 ? 1080.0 : 0.0, 1e-10);
  }
}

TEST(MpiVariants, have_the_names_of_the_harness_and_twins_among_themselves) {
  std::map<std::string, std::string> twins{{"", ""}};
  for (const Variant& variant : mpi::variants(MPI_COMM_WORLD)) {
    EXPECT_TRUE(twins.emplace(variant.name, variant.twin).second);
    EXPECT_FALSE(variant.summary.empty());
    EXPECT_TRUE(variant.make);
  }
  EXPECT_EQ(twins.size(), 13U);
  for (const auto& [name, twin] : twins) {
    EXPECT_TRUE(twins.contains(twin)) << name;
  }
}

}  // namespace
}  // namespace plait::fft

int main(int argc, char** argv) {
  const plait::net::MpiSession session{argc, argv};
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return failed;
}
