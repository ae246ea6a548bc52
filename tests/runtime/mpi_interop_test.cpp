// SPDX-License-Identifier: Apache-2.0
// Phases of a collection inside a program that goes on using MPI: its calls may block between phases.
#include <array>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "plait/base/error.hpp"
#include "plait/data/collections/collection.hpp"
#include "plait/data/lending/lend.hpp"
#include "plait/net/mpi/session.hpp"
#include "plait/runtime/runtime.hpp"

namespace plait {
namespace {

using data::Collection;
using data::ElementContext;
using data::ElementId;
using data::Shape;

int mpi_rank(MPI_Comm communicator = MPI_COMM_WORLD) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}
int mpi_size(MPI_Comm communicator = MPI_COMM_WORLD) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

/// A number in the parent's array, which elements double.
struct Doubled {
  static std::size_t size(const double& /*number*/) { return sizeof(double); }
  static void pack(const double& number, data::Packer& packer) { packer(number); }
  static void unpack(double& number, data::Unpacker& unpacker) { unpacker(number); }
};

struct Adder {
  std::uint64_t received = 0;
  void take(std::uint64_t value) { received += value; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(received);
  }
};

constexpr std::uint32_t per_rank = 5;

/// An MPI code with a number for each element, and the phase that was moved.
class Program {
 public:
  explicit Program(Runtime& runtime)
      : runtime_{runtime},
        shape_{per_rank * runtime.rank_count()},
        adders_{runtime, shape_, [](ElementId, data::Index) { return Adder{}; }},
        lender_{runtime, adders_, settings()} {}

  /// What all ranks' elements have received in the phase: as many as there are, each its neighbour's number.
  void phase(double number) {
    std::ranges::fill(numbers_, number);
    lender_.lend<Doubled>();
    adders_.each(
        [&](Adder& /*adder*/, ElementContext& context) {
          *lender_.at(context.id()) *= 2;
          context.send<&Adder::take>(ElementId{(context.id().value() + 1) % shape_.count()}, context.id().value());
        },
        {.gate = &lender_.gate()});
    lender_.give_back<Doubled>().wait();
    for (const double each : numbers_) {
      ASSERT_EQ(each, 2 * number);
    }
  }

  void move_all_on() {
    std::vector<data::Move> moves;
    for (const auto& [id, adder] : adders_.local()) {
      moves.push_back({id, Rank{(runtime_.self().value() + 1) % runtime_.rank_count()}});
    }
    adders_.migrate(moves);
  }

  /// Of the elements here.
  [[nodiscard]] std::uint64_t received() const {
    std::uint64_t sum = 0;
    for (const auto& [id, adder] : adders_.local()) {
      sum += adder.received;
    }
    return sum;
  }
  /// Of all elements, in each phase.
  [[nodiscard]] std::uint64_t sent_a_phase() const { return shape_.count() * (shape_.count() - 1) / 2; }

 private:
  data::LendSettings<double> settings() {
    data::LendSettings<double> settings{data::block(shape_, runtime_.rank_count())};
    settings.make_copy = [](ElementId) { return std::make_shared<double>(); };
    for (std::uint32_t i = 0; i < per_rank; ++i) {
      settings.pieces.push_back({ElementId{runtime_.self().value() * per_rank + i}, &numbers_[i]});
    }
    return settings;
  }

  Runtime& runtime_;
  Shape shape_;
  std::array<double, per_rank> numbers_{};
  Collection<Adder> adders_;
  data::Lender<double> lender_;
};

struct Way {
  std::string name;
  std::string network;
  comm::ProgressionMode progression;
  std::uint32_t workers;
};
void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

Options options_of(const Way& way) {
  Options options = Options::from_environment();
  options.network.network = way.network;
  options.progression.mode = way.progression;
  options.worker_count = way.workers;
  return options;
}

class MpiBetweenPhases : public testing::TestWithParam<Way> {};

/// With threads that make progress, they are kept out of the network while the program calls MPI.
TEST_P(MpiBetweenPhases, may_block) {
  Runtime runtime{MPI_COMM_WORLD, options_of(GetParam())};
  Program program{runtime};
  constexpr int phases = 40;
  for (int step = 0; step < phases; ++step) {
    std::array<int, 1000> news{};
    std::ranges::fill(news, mpi_rank() == 0 ? step : -1);
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const auto held = runtime.messages().hold();
      MPI_Ibcast(news.data(), static_cast<int>(news.size()), MPI_INT, 0, MPI_COMM_WORLD, &request);
    }
    program.phase(step);  // the broadcast is under way
    if (step % 3 == 0) {
      program.move_all_on();
    }
    const auto held = runtime.messages().hold();
    std::uint64_t sum = program.received();
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    ASSERT_EQ(sum, program.sent_a_phase() * (static_cast<unsigned>(step) + 1));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ASSERT_EQ(news.back(), step);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         MpiBetweenPhases,
                         testing::Values(Way{"shm_one_worker", "automatic", comm::ProgressionMode::none, 1},
                                         Way{"mpi_one_worker", "mpi", comm::ProgressionMode::none, 1},
                                         Way{"mpi_two_workers", "mpi", comm::ProgressionMode::none, 2},
                                         Way{"mpi_with_timer", "mpi", comm::ProgressionMode::timer, 2}),
                         [](const auto& way) { return way.param.name; });

TEST(RuntimeInsideMpi, shares_a_process_with_another_one_on_ranks_of_another_order) {
  MPI_Comm backwards = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -mpi_rank(), &backwards);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, mpi_rank() % 2, 0, &half);
  {
    const Way way{"", "mpi", comm::ProgressionMode::none, 1};
    Runtime all{backwards, options_of(way)};
    EXPECT_EQ(all.self().value(), static_cast<std::uint32_t>(mpi_size() - 1 - mpi_rank()));
    Runtime some{half, options_of(way)};
    EXPECT_EQ(some.rank_count(), static_cast<std::uint32_t>(mpi_size(half)));
    Program wide{all};
    Program narrow{some};
    for (int step = 0; step < 10; ++step) {
      wide.phase(step);
      narrow.phase(-step);
      MPI_Barrier(step % 2 == 0 ? MPI_COMM_WORLD : half);
      narrow.move_all_on();
      wide.move_all_on();
    }
    std::array<std::uint64_t, 2> sums{wide.received(), narrow.received()};
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &sums[1], 1, MPI_UINT64_T, MPI_SUM, half);
    EXPECT_EQ(sums[0], 10 * wide.sent_a_phase());
    EXPECT_EQ(sums[1], 10 * narrow.sent_a_phase());
  }
  MPI_Comm_free(&half);
  MPI_Comm_free(&backwards);
}

/// Rank 0 waits in a turn for others to come to the barrier, which cannot leave the phase before that turn has ended.
TEST(RuntimeInsideMpi, names_the_phase_when_a_turn_blocks_in_mpi) {
  if (mpi_size() == 1) {
    GTEST_SKIP() << "needs a second rank";
  }
  Options options = options_of({"", "automatic", comm::ProgressionMode::none, 1});
  options.stall_max = std::chrono::milliseconds{300};
  std::string sentence;
  try {
    Runtime runtime{MPI_COMM_WORLD, options};
    Collection<Adder> adders{runtime, Shape{runtime.rank_count()}, [](ElementId, data::Index) { return Adder{}; }};
    adders.each(
        [](Adder& /*adder*/, ElementContext& context) {
          if (context.id() == ElementId{0}) {
            MPI_Barrier(MPI_COMM_WORLD);
          }
        },
        "blocked");
  } catch (const Error& error) {
    sentence = error.what();
    if (mpi_rank() != 0) {
      MPI_Barrier(MPI_COMM_WORLD);  // so that this test ends
    }
  }
  if (mpi_rank() != 0) {  // which may have heard all that it needs to end the phase
    EXPECT_NE(sentence.find("blocked"), std::string::npos) << sentence;
  }
}

std::string why_no_runtime() {
  try {
    const Runtime runtime{MPI_COMM_WORLD};
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  const bool is_refused_before = plait::why_no_runtime().find("MPI is not initialised") != std::string::npos;
  int failed = 0;
  {
    const plait::net::MpiSession session{argc, argv};
    testing::InitGoogleTest(&argc, argv);
    failed = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  const bool is_refused_after = plait::why_no_runtime().find("already finalised") != std::string::npos;
  return failed != 0 || !is_refused_before || !is_refused_after ? EXIT_FAILURE : EXIT_SUCCESS;
}
