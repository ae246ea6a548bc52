// SPDX-License-Identifier: Apache-2.0
// Messages, layouts, requests, collectives and errors of plait.h.
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "plait/c/guard.hpp"
#include "plait/c/handles.hpp"

#include "c/support.hpp"

namespace plait::c::messages_test {
namespace {

using Messages = test::CRuntime;
using Collectives = test::CRuntime;
using Errors = test::CRuntime;

TEST_F(Messages, reach_their_receive_with_a_status) {
  std::vector<int> sent(100'000, rank);
  std::vector<int> received(sent.size());
  const std::size_t bytes = sent.size() * sizeof(int);
  plait_request* request = nullptr;
  plait_status status;
  ASSERT_EQ(plait_receive(runtime, received.data(), bytes, PLAIT_ANY_SOURCE, PLAIT_ANY_TAG, &request), PLAIT_SUCCESS);
  ASSERT_EQ(plait_send(runtime, sent.data(), bytes, next, 1LL << 40, nullptr), PLAIT_SUCCESS);
  ASSERT_EQ(plait_wait(&request, &status), PLAIT_SUCCESS) << plait_last_error();
  EXPECT_EQ(request, nullptr);
  EXPECT_EQ(status.source, last);
  EXPECT_EQ(status.tag, 1LL << 40);
  EXPECT_EQ(status.bytes, bytes);
  EXPECT_EQ(received, std::vector<int>(sent.size(), last));
}

TEST_F(Messages, have_layouts_of_several_dimensions) {
  std::array<std::array<std::array<int, 5>, 4>, 3> box{};
  int number = 0;
  for (auto& plane : box) {
    for (auto& row : plane) {
      for (int& cell : row) {
        cell = number++;
      }
    }
  }
  plait_layout face = plait_strided(&box[0][3][1], sizeof(int), -static_cast<std::ptrdiff_t>(sizeof box[0][0]), 4);
  ASSERT_EQ(plait_layout_repeat(&face, sizeof box[0], 3), PLAIT_SUCCESS);
  EXPECT_EQ(plait_layout_bytes(&face), 12 * sizeof(int));
  std::array<int, 12> received{};
  plait_request* request = nullptr;
  ASSERT_EQ(plait_receive(runtime, received.data(), sizeof received, last, 2, &request), PLAIT_SUCCESS);
  ASSERT_EQ(plait_send_layout(runtime, &face, next, 2, nullptr), PLAIT_SUCCESS) << plait_last_error();
  ASSERT_EQ(plait_wait(&request, nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(received, (std::array{16, 11, 6, 1, 36, 31, 26, 21, 56, 51, 46, 41}));
}

TEST_F(Messages, are_contiguous_where_dimensions_leave_no_gaps) {
  std::array<double, 12> numbers{};
  plait_layout all = plait_strided(numbers.data(), sizeof(double), sizeof(double), 4);
  ASSERT_EQ(plait_layout_repeat(&all, 4 * sizeof(double), 3), PLAIT_SUCCESS);
  plait_layout none = plait_strided(numbers.data(), sizeof(double), 16, 0);
  EXPECT_EQ(plait_layout_bytes(&none), 0U);
  plait_request* requests[2];
  std::iota(numbers.begin(), numbers.end(), rank);
  std::array<double, 12> received{};
  ASSERT_EQ(plait_receive(runtime, received.data(), sizeof received, last, 3, &requests[0]), PLAIT_SUCCESS);
  ASSERT_EQ(plait_receive_layout(runtime, &none, last, 4, &requests[1]), PLAIT_SUCCESS);
  ASSERT_EQ(plait_send_layout(runtime, &all, next, 3, nullptr), PLAIT_SUCCESS);
  ASSERT_EQ(plait_send_layout(runtime, &none, next, 4, nullptr), PLAIT_SUCCESS);
  ASSERT_EQ(plait_wait_all(2, requests, nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(received[11], last + 11);
}

TEST_F(Messages, are_tested_probed_and_cancelled) {
  int number = -1;
  int flag = 0;
  plait_request* request = nullptr;
  ASSERT_EQ(plait_receive(runtime, &number, sizeof number, last, 5, &request), PLAIT_SUCCESS);
  ASSERT_EQ(plait_test(&request, &flag, nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(flag, 0);
  ASSERT_EQ(plait_cancel(&request, &flag), PLAIT_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(request, nullptr);

  plait_status status{};
  ASSERT_EQ(plait_send(runtime, &rank, sizeof rank, next, 6, nullptr), PLAIT_SUCCESS);
  for (flag = 0; flag == 0;) {
    ASSERT_EQ(plait_progress(runtime), PLAIT_SUCCESS);
    ASSERT_EQ(plait_probe(runtime, PLAIT_ANY_SOURCE, 6, &flag, &status), PLAIT_SUCCESS);
  }
  EXPECT_EQ(status.source, last);
  ASSERT_EQ(plait_receive(runtime, &number, sizeof number, last, 6, &request), PLAIT_SUCCESS);
  for (flag = 0; flag == 0;) {
    ASSERT_EQ(plait_test(&request, &flag, &status), PLAIT_SUCCESS);
  }
  EXPECT_EQ(number, last);
  EXPECT_EQ(status.bytes, sizeof number);
  ASSERT_EQ(plait_test(&request, &flag, &status), PLAIT_SUCCESS);
  EXPECT_EQ(flag, 1);
}

TEST_F(Collectives, move_blocks_of_all_members) {
  plait_group* group = nullptr;
  ASSERT_EQ(plait_group_create(runtime, 0, nullptr, &group), PLAIT_SUCCESS);
  const auto count = static_cast<std::size_t>(ranks);
  ASSERT_EQ(plait_group_size(group), count);
  ASSERT_EQ(plait_group_self(group), static_cast<std::size_t>(rank));
  std::vector<int> to(count);
  std::vector<int> from(count);
  std::iota(to.begin(), to.end(), 100 * rank);
  ASSERT_EQ(plait_all_to_all(group, to.data(), from.data(), sizeof(int), nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(from.back(), 100 * (ranks - 1) + rank);
  const std::vector<std::size_t> bytes(count, sizeof(int));
  from.assign(count, 0);
  ASSERT_EQ(plait_all_to_all_blocks(group, to.data(), bytes.data(), from.data(), bytes.data(), nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(from.back(), 100 * (ranks - 1) + rank);
  plait_request* requests[3];
  std::vector<int> all(count);
  int root = rank;
  ASSERT_EQ(plait_all_gather(group, &rank, sizeof rank, all.data(), &requests[0]), PLAIT_SUCCESS);
  ASSERT_EQ(plait_broadcast(group, count - 1, &root, sizeof root, &requests[1]), PLAIT_SUCCESS);
  ASSERT_EQ(plait_barrier(group, &requests[2]), PLAIT_SUCCESS);
  ASSERT_EQ(plait_wait_all(3, requests, nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(all.back(), ranks - 1);
  EXPECT_EQ(root, ranks - 1);
  EXPECT_EQ(plait_group_free(&group), PLAIT_SUCCESS);
}

TEST_F(Collectives, combine_numbers_of_a_group) {
  plait_group* group = nullptr;
  ASSERT_EQ(plait_group_create(runtime, 1, &rank, &group), PLAIT_SUCCESS);  // each rank its own
  float alone = 3;
  ASSERT_EQ(plait_all_reduce(group, &alone, 1, PLAIT_FLOAT, PLAIT_SUM, nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(alone, 3);
  ASSERT_EQ(plait_group_free(&group), PLAIT_SUCCESS);

  ASSERT_EQ(plait_group_create(runtime, 0, nullptr, &group), PLAIT_SUCCESS);
  std::array<double, 2> mine{1.0 * rank, -1.0 * rank};
  std::array<double, 2> result{-7, -7};
  ASSERT_EQ(plait_reduce(group, 0, mine.data(), result.data(), 2, PLAIT_DOUBLE, PLAIT_MAXIMUM, nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(result[0], rank == 0 ? ranks - 1 : -7);
  ASSERT_EQ(plait_all_reduce(group, mine.data(), 2, PLAIT_DOUBLE, PLAIT_MINIMUM, nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(mine[1], 1 - ranks);
  std::array<float, 4> waves{1, 2, 3, 4};
  ASSERT_EQ(plait_all_reduce(group, waves.data(), 2, PLAIT_FLOAT_COMPLEX, PLAIT_SUM, nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(waves[3], 4.0F * static_cast<float>(ranks));
  EXPECT_EQ(plait_all_reduce(group, waves.data(), 2, PLAIT_FLOAT_COMPLEX, PLAIT_MINIMUM, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(plait_last_error(), "PLAIT_SUM for complex"), nullptr);
  ASSERT_EQ(plait_group_free(&group), PLAIT_SUCCESS);
}

TEST_F(Errors, of_a_message_that_is_too_long_are_in_its_status) {
  const std::array<int, 8> sent{};
  std::array<int, 2> received{};
  plait_request* request = nullptr;
  plait_status status{};
  ASSERT_EQ(plait_receive(runtime, received.data(), sizeof received, last, 7, &request), PLAIT_SUCCESS);
  ASSERT_EQ(plait_send(runtime, sent.data(), sizeof sent, next, 7, nullptr), PLAIT_SUCCESS);
  EXPECT_EQ(plait_wait_all(1, &request, &status), PLAIT_TRUNCATED);
  EXPECT_EQ(status.error, PLAIT_TRUNCATED);
  EXPECT_EQ(status.bytes, sizeof sent);
  EXPECT_NE(std::strstr(plait_last_error(), "32 bytes"), nullptr) << plait_last_error();
  EXPECT_EQ(request, nullptr);
}

TEST_F(Errors, of_arguments_leave_handles_as_they_are) {
  plait_request* request = nullptr;
  EXPECT_EQ(plait_send(runtime, nullptr, 8, next, 8, &request), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_send(runtime, nullptr, 0, ranks, 8, &request), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_receive(runtime, nullptr, 0, -2, 8, &request), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_send_layout(runtime, nullptr, next, 8, &request), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(request, nullptr);
  plait_layout layout = plait_contiguous(nullptr, 0);
  for (int i = 0; i < PLAIT_DIMENSIONS_MAX; ++i) {
    ASSERT_EQ(plait_layout_repeat(&layout, 8, 1), PLAIT_SUCCESS);
  }
  EXPECT_EQ(plait_layout_repeat(&layout, 8, 1), PLAIT_BAD_ARGUMENT);
}

TEST_F(Errors, of_options_are_found_before_anything_starts) {
  plait_options options;
  EXPECT_EQ(plait_options_init(&options, 4), PLAIT_BAD_ARGUMENT);
  plait_runtime* none = nullptr;
  options = {};
  EXPECT_EQ(plait_runtime_create(MPI_COMM_WORLD, &options, &none), PLAIT_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(plait_last_error(), "plait_options_init"), nullptr);
  ASSERT_EQ(plait_options_init(&options, sizeof options), PLAIT_SUCCESS);
  options.progression = 77;
  EXPECT_EQ(plait_runtime_create(MPI_COMM_WORLD, &options, &none), PLAIT_BAD_ARGUMENT);
  ASSERT_EQ(plait_options_init(&options, sizeof options), PLAIT_SUCCESS);
  options.network = "pigeons";
  EXPECT_NE(plait_runtime_create(MPI_COMM_WORLD, &options, &none), PLAIT_SUCCESS);
  EXPECT_EQ(none, nullptr);
}

TEST(Options, of_a_later_version_are_accepted) {
  struct Later {
    plait_options options;
    double more;
  } later{};
  later.more = 1;
  ASSERT_EQ(plait_options_init(&later.options, sizeof later), PLAIT_SUCCESS);
  EXPECT_EQ(later.more, 0);
  plait_runtime* runtime = nullptr;
  ASSERT_EQ(plait_runtime_create_f(MPI_Comm_c2f(MPI_COMM_WORLD), &later.options, &runtime), PLAIT_SUCCESS);
  EXPECT_EQ(plait_runtime_free(&runtime), PLAIT_SUCCESS);
}

TEST(Guard, turns_every_exception_into_a_code_and_a_sentence) {
  EXPECT_EQ(guarded([] {}), PLAIT_SUCCESS);
  EXPECT_EQ(guarded([] { throw Error{ErrorCode::timeout, "too late"}; }), PLAIT_TIMEOUT);
  EXPECT_STREQ(plait_last_error(), "too late");
  EXPECT_EQ(guarded([] { throw std::bad_alloc{}; }), PLAIT_OUT_OF_MEMORY);
  EXPECT_EQ(guarded([] { throw std::runtime_error{"odd"}; }), PLAIT_UNKNOWN);
  EXPECT_STREQ(plait_last_error(), "odd");
  EXPECT_EQ(guarded([] { throw 5; }), PLAIT_UNKNOWN);
  for (int error = PLAIT_SUCCESS; error <= PLAIT_UNKNOWN; ++error) {
    EXPECT_STRNE(plait_error_text(error), plait_error_text(-1)) << error;
  }
}

}  // namespace
}  // namespace plait::c::messages_test

int main(int argc, char** argv) {
  return plait::c::test::run_on_ranks(argc, argv);
}
