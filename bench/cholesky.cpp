// SPDX-License-Identifier: Apache-2.0
// A dense Cholesky factorisation as a flow of tasks, beside ScaLAPACK, StarPU and LAPACK with the same BLAS, and the
// speed of the BLAS's matrix products as the bound.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "cholesky/factorization.hpp"
#include "cholesky/kernels/blas.hpp"
#include "cholesky/peers.hpp"
#include "cholesky/sources/matrix_source.hpp"
#include "support/report.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace {

using bench::Factored;
using bench::Problem;

constexpr const char* product_bound = "products of such tiles, all cores at once";

/// A participant, and how its block size is chosen.
struct Contender {
  std::string name;
  std::function<std::optional<Factored>(const Problem&)> factor;
  std::vector<std::size_t> blocks;  ///< Candidates, tried on a matrix of at most `tuning_size_max` rows.
  std::size_t tuning_size_max = 0;
  std::size_t block = 0;
  std::vector<double> rates;  ///< GFlop/s.
};

struct Plait {
  std::uint32_t workers = 1;
  std::vector<double> idle;  ///< Shares of the workers' time, in percent.

  std::optional<Factored> factor(const Problem& problem);
};

/// Creates a new runtime each time: none may poll the network while a peer runs.
std::optional<Factored> Plait::factor(const Problem& problem) {
  plait::Options options = plait::Options::from_environment();
  options.worker_count = workers;
  plait::Runtime runtime{MPI_COMM_WORLD, options};
  const plait::Group group{runtime.messages()};
  const cholesky::Layout layout{problem.size, problem.block, cholesky::ProcessGrid::square(runtime.rank_count())};
  cholesky::Factorization factorization{runtime, layout, {}};
  cholesky::generate(problem.size, problem.seed, static_cast<double>(problem.size))
      ->fill(layout, cholesky::Part::lower, factorization.tiles());
  plait::barrier(runtime.messages());
  const bench::Stopwatch watch;
  factorization.run();
  Factored result{.seconds = watch.seconds()};
  for (const auto& [row, column, tile] : factorization.tiles()) {
    for (std::size_t i = 0; row == column && i < tile.rows; ++i) {
      result.log_determinant += std::log(tile.at(i, i));
    }
  }
  double busy = std::chrono::duration<double>(factorization.work().busy()).count();
  plait::all_reduce(group, std::span{&result.seconds, 1}, plait::Maximum{}).wait();
  plait::all_reduce(group, std::span{&result.log_determinant, 1}).wait();
  plait::all_reduce(group, std::span{&busy, 1}).wait();
  idle.push_back(100 * (1 - busy / (result.seconds * workers * runtime.rank_count())));
  return result;
}

/// GFlop/s of concurrent tile products on all cores of the run; the same on all ranks.
double product_rate(std::size_t tile, std::uint32_t workers) {
  MPI_Barrier(MPI_COMM_WORLD);
  double rate = cholesky::measure_product_rate(tile, workers) * 1e-9;
  MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return rate;
}

double rate_of(const Factored& factored, std::size_t size) {
  return cholesky::flops_of(cholesky::Factors::symmetric, size) / factored.seconds * 1e-9;
}

/// Tries each block size once, after a small run that warms up. Returns whether the contender is available.
bool tune(Contender& one, std::size_t size) {
  if (!one.factor({.size = 512, .block = 64})) {
    return false;
  }
  size = std::min(size, one.tuning_size_max);
  double best = 0;
  one.block = one.blocks.front();
  for (const std::size_t block : one.blocks) {
    double rate = one.blocks.size() > 1 ? rate_of(*one.factor({.size = size, .block = block}), size) : 0;
    MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rate > best) {
      best = rate;
      one.block = block;
    }
  }
  return true;
}

void expect_equal(const Factored& ours, const Factored& theirs, const std::string& name) {
  if (bench::RawMpi::rank() == 0 &&
      !(std::abs(ours.log_determinant - theirs.log_determinant) < 1e-9 * ours.log_determinant)) {
    fmt::print(stderr, "{} has factored another matrix: {} {}\n", name, theirs.log_determinant, ours.log_determinant);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

struct Size {
  std::size_t size = 0;
  int repetitions = 0;
};

void measure(bench::Report& report, const Size& what, Plait& plait, std::vector<Contender> all) {
  std::erase_if(all, [&](Contender& one) { return !tune(one, what.size); });
  std::vector<double> bounds;
  plait.idle.clear();
  for (int repetition = 0; repetition < what.repetitions; ++repetition) {
    bounds.push_back(product_rate(all.front().block, plait.workers));
    Factored ours;
    for (Contender& one : all) {
      const Factored factored = *one.factor({.size = what.size, .block = one.block});
      one.rates.push_back(rate_of(factored, what.size));
      if (&one == &all.front()) {
        ours = factored;
      }
      expect_equal(ours, factored, one.name);
    }
  }
  const double bound = bench::median(bounds);
  const Contender& ours = all.front();
  const std::map<std::string, std::string> params{{"n", std::to_string(what.size)},
                                                  {"tile", std::to_string(ours.block)},
                                                  {"ranks", std::to_string(bench::RawMpi::rank_count())},
                                                  {"workers", std::to_string(plait.workers)}};
  for (auto peer = all.begin() + 1; peer != all.end(); ++peer) {
    report.add({"speed",
                params,
                ours.rates,
                "GFlop/s",
                fmt::format("{}, blocks of {}", peer->name, peer->block),
                bench::median(peer->rates),
                product_bound,
                bound});
  }
  std::vector<double> shares;
  for (std::size_t index = 0; index < bounds.size(); ++index) {
    shares.push_back(100 * ours.rates[index] / bounds[index]);
  }
  report.add({"share", params, shares, "%", product_bound, 100, product_bound, 100});
  report.add({"idle", params, plait.idle, "%"});
}

std::vector<Contender> contenders(Plait& plait, std::optional<bench::StarPu>& starpu, std::size_t size) {
  const std::vector<std::size_t> tiles =
      size >= 8192 ? std::vector<std::size_t>{384, 512, 640}
                   : (size >= 4096 ? std::vector<std::size_t>{256, 384, 512} : std::vector<std::size_t>{128, 192, 256});
  std::vector<Contender> all{{"plait", [&](const Problem& problem) { return plait.factor(problem); }, tiles, size}};
  if (bench::RawMpi::rank_count() > 1) {
    const int ranks = bench::RawMpi::rank_count();
    const auto rows = static_cast<int>(cholesky::ProcessGrid::square(static_cast<std::uint32_t>(ranks)).rows);
    for (const int grid_rows : {rows, ranks / rows}) {
      all.push_back({fmt::format("ScaLAPACK {} x {}", grid_rows, ranks / grid_rows),
                     [grid_rows](const Problem& problem) { return bench::scalapack(problem, grid_rows); },
                     {64, 128, 192, 256},
                     4096});
      if (grid_rows == ranks / rows) {
        break;
      }
    }
    return all;
  }
  all.push_back(
      {bench::StarPu::version(), [&](const Problem& problem) { return starpu->factor(problem); }, tiles, size});
  all.push_back({fmt::format("LAPACK, {} threads of the BLAS", plait.workers),
                 [&](const Problem& problem) { return bench::lapack(problem, static_cast<int>(plait.workers)); },
                 {size},
                 0});
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  cholesky::prepare_blas(argv);
  bench::Report report{
      "cholesky",
      "a flow of tasks aims at 90 % of what products of tiles reach, and 1.1 times ScaLAPACK (1.5 over 1 Gbit/s)",
      {.ranks = {2, 1}},
      argc,
      argv};
  plait::MpiSession session{argc, argv};
  Plait plait{.workers = bench::RawMpi::rank_count() > 1 ? 1U : 2U};
  std::optional<bench::StarPu> starpu;
  if (bench::RawMpi::rank_count() == 1) {
    starpu.emplace(plait.workers, "prio");
  }
  std::vector<Size> sizes{{1024, 11}, {2048, 9}, {4096, 7}, {8192, 3}};
  if (report.is_full()) {
    sizes = {{1024, 31}, {2048, 21}, {4096, 15}, {8192, 9}, {16384, 3}};
  }
  for (const Size& one : sizes) {
    measure(report, one, plait, contenders(plait, starpu, one.size));
  }
  report.finish();
}
