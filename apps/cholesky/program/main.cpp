// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "plait/version.hpp"

#include "cholesky/kernels/blas.hpp"
#include "cholesky/program/run.hpp"
#include "cholesky/program/settings.hpp"
#include "support/agree.hpp"

namespace {

using cholesky::Settings;

void add_matrix_options(CLI::App& app, Settings& settings) {
  const char* const group = "The matrix";
  auto* const size = app.add_option("-n,--size", settings.size, "Rows of a generated matrix")
                         ->capture_default_str()
                         ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 31U))
                         ->group(group);
  auto* const seed =
      app.add_option("--seed", settings.seed, "Of a generated matrix")->capture_default_str()->group(group);
  auto* const diagonal =
      app.add_option("--diagonal", settings.diagonal, "Added to its diagonal; small numbers make it indefinite [rows]")
          ->group(group);
  auto* const matrix =
      app.add_option("--matrix", settings.matrix, "File to read instead: Matrix Market if it ends in .mtx, else HDF5")
          ->excludes(size)
          ->excludes(seed)
          ->excludes(diagonal)
          ->group(group);
  app.add_option("--dataset", settings.dataset, "Which of an HDF5 file's matrices [the only one]")
      ->needs(matrix)
      ->group(group);
  app.add_flag("--lu", settings.is_lu, "A = L U without pivoting, of any matrix, instead of A = L L^T")->group(group);
  app.add_option("--output", settings.output, "HDF5 file to write the factor to")->group(group);
  app.add_flag("!--no-check", settings.is_checked, "Do not compute the residual")->group(group);
}

void add_parallel_options(CLI::App& app, Settings& settings) {
  const char* const group = "Parallel computing";
  app.add_option("--tile", settings.tile, "Rows of a tile [by the size of the matrix]")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 15U))
      ->group(group);
  app.add_option("--grid", settings.grid, "ROWSxCOLUMNS of ranks, over which tiles are dealt out [nearly square]")
      ->group(group);
  app.add_option("--workers", settings.workers, "Computing threads of each rank [PLAIT_WORKERS, else 1]")
      ->check(CLI::Range(1U, 1024U))
      ->group(group);
  app.add_option("--driver", settings.driver, "What joins the ranks [PLAIT_NETWORK, else automatic]")
      ->check(CLI::IsMember({"automatic", "mpi", "shm", "ofi"}))
      ->group(group);
  app.add_option("--packing", settings.packing, "How messages share packets [PLAIT_PACKING, else aggregate]")
      ->check(CLI::IsMember({"immediate", "aggregate", "priority"}))
      ->group(group);
  app.add_flag("!--no-multicast", settings.has_multicast, "Send a tile to each reader by itself")->group(group);
}

/// Rank 0 reports an error that all ranks have; another error is reported by the rank that has it.
int run_on_ranks(const Settings& settings, int& argc, char**& argv) {
  plait::MpiSession session{argc, argv};
  try {
    plait::Runtime runtime{MPI_COMM_WORLD, cholesky::runtime_options(settings)};
    try {
      return cholesky::run(runtime, settings);
    } catch (const app::AgreedError& error) {
      if (runtime.self() == plait::Rank{0}) {
        std::fprintf(stderr, "plait-cholesky: %s\n", error.what());
      }
      return 1;
    }
  } catch (const std::exception& error) {
    session.fail("plait-cholesky", error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  cholesky::prepare_blas(argv);
  CLI::App app{
      "plait-cholesky: factors a dense symmetric positive definite matrix, A = L L^T, by tiles on all ranks.\n\n"
      "  plait run -n 2 plait-cholesky --size 8192\n"
      "  plait run -n 2 plait-cholesky --matrix stiffness.mtx --output factor.hdf5\n",
      "plait-cholesky"};
  app.set_version_flag("--version", plait::version_line("plait-cholesky"));
  Settings settings;
  add_matrix_options(app, settings);
  add_parallel_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  settings.command.assign(argv, argv + argc);
  return run_on_ranks(settings, argc, argv);
}
