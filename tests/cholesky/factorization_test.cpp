// SPDX-License-Identifier: Apache-2.0
#include "cholesky/factorization.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/testing/run_program.hpp"

#include "cholesky/dense.hpp"
#include "cholesky/kernels/kernels.hpp"
#include "cholesky/sources/matrix_source.hpp"

namespace cholesky::factorization_test {
namespace {

using namespace test;

struct Job {
  std::size_t size = 96;
  std::size_t tile = 16;
  ProcessGrid grid;
  std::uint32_t workers = 1;
  Factors factors = Factors::symmetric;
  plait::Fanout fanout = plait::Fanout::multicast;
  plait::Submission submission = plait::Submission::own_tasks;
  double diagonal = 96;
};

Part part_of(const Job& job) {
  return job.factors == Factors::symmetric ? Part::lower : Part::all;
}

/// The tiles of all ranks of a loopback network, put together after the factorisation.
Dense factor(const Job& job) {
  Dense result{job.size};
  std::mutex mutex;
  std::uint64_t tasks = 0;
  std::uint64_t expected_tasks = 0;
  plait::test::run_program(
      {.ranks = job.grid.rows * job.grid.columns}, {.worker_count = job.workers}, [&](plait::Runtime& runtime) {
        const Layout layout{job.size, job.tile, job.grid};
        Factorization factorization{
            runtime, layout, {.factors = job.factors, .fanout = job.fanout, .submission = job.submission}};
        generate(job.size, 3, job.diagonal)->fill(layout, part_of(job), factorization.tiles());
        factorization.run();
        const std::lock_guard lock{mutex};
        tasks += factorization.work().tasks();
        expected_tasks += task_count(layout, job.factors, runtime.self());
        for (const auto& [row, column, tile] : factorization.tiles()) {
          for (std::size_t j = 0; j < tile.columns; ++j) {
            for (std::size_t i = 0; i < tile.rows; ++i) {
              result.at(layout.first(row) + i, layout.first(column) + j) = tile.at(i, j);
            }
          }
        }
      });
  EXPECT_EQ(tasks, expected_tasks);
  return result;
}

/// The same matrix in one tile, factored by LAPACK or by the kernel that the kernels' test holds against products.
Dense factored_whole(const Job& job) {
  Dense whole{job.size};
  const Layout layout{job.size, job.size, {1, 1}};
  const std::vector<PlacedTile> all{{0, 0, whole.tile()}};
  generate(job.size, 3, job.diagonal)->fill(layout, part_of(job), all);
  EXPECT_EQ(job.factors == Factors::symmetric ? factor_symmetric(whole.tile()) : factor_general(whole.tile()), 0U);
  return whole;
}

void expect_factored(const Job& job) {
  const Dense found = factor(job);
  const Dense expected = factored_whole(job);
  const bool is_symmetric = job.factors == Factors::symmetric;
  EXPECT_LT(largest(is_symmetric ? difference(lower_of(found), lower_of(expected)) : difference(found, expected)),
            1e-10)
      << job.grid.rows << 'x' << job.grid.columns << " ranks, " << job.workers << " workers, tiles of " << job.tile;
}

TEST(Factorization, on_one_rank_is_that_of_the_whole_matrix) {
  for (const Factors factors : {Factors::symmetric, Factors::general}) {
    for (const std::size_t tile : {96U, 48U, 16U, 7U}) {
      expect_factored({.tile = tile, .factors = factors});
    }
    expect_factored({.workers = 3, .factors = factors});
  }
}

TEST(Factorization, of_one_row_is_its_root) {
  EXPECT_NEAR(factor({.size = 1, .tile = 1, .diagonal = 9}).at(0, 0), 3, 0.1);
}

TEST(Factorization, on_several_ranks_is_that_of_the_whole_matrix) {
  for (const Factors factors : {Factors::symmetric, Factors::general}) {
    for (const ProcessGrid grid : {ProcessGrid{1, 2}, {2, 1}, {2, 2}, {1, 3}, {2, 3}}) {
      expect_factored({.grid = grid, .factors = factors});
      expect_factored({.tile = 9, .grid = grid, .workers = 2, .factors = factors});
    }
  }
}

TEST(Factorization, without_multicasts_is_the_same) {
  const Job job{.tile = 8, .grid = {2, 3}};
  Job single = job;
  single.fanout = plait::Fanout::single_messages;
  EXPECT_EQ(lower_of(factor(job)).data, lower_of(factor(single)).data);
}

TEST(Factorization, is_the_same_when_each_rank_submits_the_tasks_of_all) {
  for (const Factors factors : {Factors::symmetric, Factors::general}) {
    for (const ProcessGrid grid : {ProcessGrid{1, 1}, {1, 3}, {3, 1}, {2, 2}, {2, 3}}) {
      const Job own{.tile = 9, .grid = grid, .workers = 2, .factors = factors};
      Job all = own;
      all.submission = plait::Submission::every_task;
      EXPECT_EQ(factor(own).data, factor(all).data) << grid.rows << " x " << grid.columns;
    }
  }
}

TEST(Factorization, with_more_ranks_than_tiles_leaves_some_without_work) {
  expect_factored({.tile = 64, .grid = {2, 3}});
}

/// The error of each rank for a matrix that cannot be factored.
std::vector<std::string> sentences(const Job& job, std::size_t bad_row, double bad_number) {
  const std::uint32_t ranks = job.grid.rows * job.grid.columns;
  std::vector<std::string> said(ranks);
  std::atomic<std::uint32_t> present = 0;
  plait::test::run_program({.ranks = ranks}, {.worker_count = job.workers}, [&](plait::Runtime& runtime) {
    const Layout layout{job.size, job.tile, job.grid};
    Factorization factorization{runtime, layout, {.factors = job.factors}};
    generate(job.size, 3, job.diagonal)->fill(layout, part_of(job), factorization.tiles());
    for (const auto& [row, column, tile] : factorization.tiles()) {
      for (std::size_t i = 0; job.factors == Factors::general && i < tile.rows * tile.columns; ++i) {
        tile.data[i] = row == column && i % (tile.rows + 1) == 0 ? 2 : 0;  // a diagonal matrix
      }
      if (row == column && row == bad_row / job.tile) {
        tile.at(bad_row % job.tile, bad_row % job.tile) = bad_number;
      }
    }
    try {
      // One that fails at once would else meet ranks that are not here yet. A barrier of messages might still be open
      // on some of them, and would not end.
      ++present;
      runtime.messages().progress_until([&] { return present == ranks; });
      factorization.run();
    } catch (const plait::Error& error) {
      said[runtime.self().value()] = error.what();
    }
  });
  return said;
}

TEST(Factorization, of_a_matrix_that_is_not_positive_definite_ends_on_every_rank_with_the_minor) {
  for (const std::size_t bad : {0U, 17U, 50U, 95U}) {
    for (const std::string& sentence : sentences({.grid = {2, 2}, .workers = 2}, bad, -1)) {
      EXPECT_NE(sentence.find("leading minor of order " + std::to_string(bad + 1) + " is"), std::string::npos)
          << sentence;
    }
  }
}

TEST(Factorization, that_would_need_pivoting_ends_on_every_rank_with_the_pivot) {
  for (const std::string& sentence : sentences({.grid = {1, 2}, .factors = Factors::general}, 40, 0)) {
    EXPECT_NE(sentence.find("pivot 41 "), std::string::npos) << sentence;
  }
}

}  // namespace
}  // namespace cholesky::factorization_test
