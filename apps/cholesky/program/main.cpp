// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "plait/base/command_line.hpp"

#include "cholesky/kernels/blas.hpp"
#include "cholesky/program/run.hpp"
#include "support/common_options.hpp"
#include "support/mpi/run_on_ranks.hpp"
#include "support/option_group.hpp"

namespace {

using cholesky::Settings;

void add_matrix_options(CLI::App& app, Settings& settings) {
  app::OptionGroup group{app, "The matrix"};
  auto* const size = group.add_with_default("--size", settings.size, "Rows of a generated matrix")
                         ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 31U));
  auto* const seed = group.add_with_default("--seed", settings.seed, "Of a generated matrix");
  auto* const diagonal =
      group.add("--diagonal", settings.diagonal, "Added to its diagonal; small numbers make it indefinite [rows]");
  auto* const matrix =
      group.add("--matrix", settings.matrix, "File to read instead: Matrix Market if it ends in .mtx, else HDF5")
          ->excludes(size)
          ->excludes(seed)
          ->excludes(diagonal);
  group.add("--dataset", settings.dataset, "Which of an HDF5 file's matrices [the only one]")->needs(matrix);
  group.add_flag("--lu", settings.is_lu, "A = L U without pivoting, of any matrix, instead of A = L L^T");
  group.add("-o,--output", settings.output, "HDF5 file to write the factor to");
  group.add_flag("!--no-check", settings.is_checked, "Do not compute the residual");
}

void add_parallel_options(CLI::App& app, Settings& settings) {
  app::OptionGroup group{app, "Parallel computing"};
  group.add("--tile", settings.tile, "Rows of a tile [by the size of the matrix]")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 15U));
  group.add("--grid", settings.grid, "ROWSxCOLUMNS of ranks, over which tiles are distributed [nearly square]");
  group.add("-w,--workers", settings.workers, "Computing threads of each rank [PLAIT_WORKERS, else 1]")
      ->check(CLI::Range(1U, 1024U));
  group.add("--driver", settings.driver, "Network between the ranks [PLAIT_NETWORK, else automatic]")
      ->check(CLI::IsMember({"automatic", "mpi", "shm", "ofi"}));
  group.add("--packing", settings.packing, "How messages share packets [PLAIT_PACKING, else aggregate]")
      ->check(CLI::IsMember({"immediate", "aggregate", "priority"}));
  group.add_flag("!--no-multicast", settings.has_multicast, "Send a tile to each reader by itself");
  group.add_flag("--submit-all", settings.submits_all, "Let each rank submit the tasks of all ranks, not its own only");
}

}  // namespace

int main(int argc, char** argv) {
  cholesky::prepare_blas(argv);
  CLI::App app{
      "plait-cholesky: factors a dense symmetric positive definite matrix, A = L L^T, by tiles on all ranks.\n\n"
      "  plait run -n 2 plait-cholesky --size 8192\n"
      "  plait run -n 2 plait-cholesky --matrix stiffness.mtx --output factor.hdf5\n",
      "plait-cholesky"};
  app::add_common_options(app, "plait-cholesky");
  Settings settings;
  add_matrix_options(app, settings);
  add_parallel_options(app, settings);
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  settings.command.assign(argv, argv + argc);
  return app::run_with_mpi({.name = "plait-cholesky", .argc = argc, .argv = argv, .calls_mpi = false},
                           [&] { return cholesky::run(settings); });
}
