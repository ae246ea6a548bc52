// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/agree.hpp"

#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/group.hpp"

#include "comm/loopback_ranks.hpp"

namespace plait::comm::agree_test {
namespace {

constexpr std::uint32_t rank_count = 3;

/// What each rank throws when `work` is given its number.
std::vector<std::optional<Error>> errors_of(const std::function<void(std::uint32_t)>& work) {
  test::LoopbackRanks ranks{rank_count};
  std::vector<std::optional<Error>> errors(rank_count);
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        agree(Group{ranks[rank]}, [&] { work(rank); });
      } catch (const Error& error) {
        errors[rank] = error;
      }
      ranks[rank].drain();
    });
  }
  threads.clear();
  return errors;
}

void expect_all(const std::vector<std::optional<Error>>& errors,
                ErrorCode code,
                const std::string& sentence,
                Rank rank) {
  for (const std::optional<Error>& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), code);
    EXPECT_EQ(error->what(), sentence);
    EXPECT_EQ(error->rank(), rank);
  }
}

TEST(Agree, throws_nothing_when_all_ranks_succeed) {
  for (const std::optional<Error>& error : errors_of([](std::uint32_t) {})) {
    EXPECT_FALSE(error);
  }
}

TEST(Agree, throws_the_error_of_the_lowest_rank_everywhere) {
  const auto errors = errors_of([](std::uint32_t rank) {
    if (rank > 0) {
      throw Error{ErrorCode::bad_input, "rank " + std::to_string(rank) + " has no file"};
    }
  });
  expect_all(errors, ErrorCode::bad_input, "rank 1 has no file", Rank{1});
}

TEST(Agree, gives_other_exceptions_a_code) {
  expect_all(errors_of([](std::uint32_t rank) {
               if (rank == 2) {
                 throw std::filesystem::filesystem_error{"no", std::make_error_code(std::errc::permission_denied)};
               }
             }),
             ErrorCode::io,
             "filesystem error: no: Permission denied",
             Rank{2});
  expect_all(errors_of([](std::uint32_t) { throw std::bad_alloc{}; }),
             ErrorCode::out_of_memory,
             "memory is short: use more ranks",
             Rank{0});
}

}  // namespace
}  // namespace plait::comm::agree_test
