// SPDX-License-Identifier: Apache-2.0
#include "cholesky/program/run.hpp"

#include <cmath>
#include <mutex>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>
#include <mpi.h>

#include "cholesky/factor_file.hpp"
#include "cholesky/factorization.hpp"
#include "cholesky/kernels/blas.hpp"
#include "cholesky/residual.hpp"
#include "cholesky/sources/matrix_source.hpp"
#include "support/agree.hpp"
#include "support/progress_bar.hpp"

namespace cholesky {

namespace {

using plait::Error;
using plait::ErrorCode;

std::string describe_bytes(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.1f} MB", bytes * 1e-6) : fmt::format("{:.2f} GB", bytes * 1e-9);
}

void expect_memory(const Layout& layout, Part part, plait::Rank self) {
  const std::uint64_t needed = bytes_of(layout, part, self);
  const auto there = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(getpagesize());
  if (needed > there) {
    throw Error{ErrorCode::out_of_memory,
                fmt::format("a matrix of {} rows takes {} on rank {}, and this machine has {}: use more machines",
                            layout.size(),
                            describe_bytes(static_cast<double>(needed)),
                            self.value(),
                            describe_bytes(static_cast<double>(there)))};
  }
}

/// One run of the program.
class Run {
 public:
  Run(plait::Runtime& runtime, const Settings& settings)
      : runtime_{runtime},
        settings_{settings},
        group_{runtime.messages()},
        is_first_{runtime.self() == plait::Rank{0}},
        factors_{settings.is_lu ? Factors::general : Factors::symmetric} {}

  int operator()() {
    start();
    print_beginning();
    plait::barrier(runtime_.messages());  // products run on all cores at once
    // Where no task computes, there is no matrix, and no machine to compare with.
    const bool computes = runtime_.runs_bodies();
    const double product_rate =
        computes ? over_ranks(measure_product_rate(layout_->tile(), runtime_.worker_count())) : 0;
    // Any worker draws the bar; another one that finds it being drawn goes on.
    std::mutex drawing;
    app::ProgressBar bar{task_count(*layout_, factors_, runtime_.self()), is_first_, "tasks"};
    const auto draw = [&](std::uint64_t done) {
      if (const std::unique_lock lock{drawing, std::try_to_lock}) {
        bar.update(done);
      }
    };
    Factorization factorization{
        runtime_,
        *layout_,
        {.factors = factors_,
         .fanout = settings_.has_multicast ? plait::Fanout::multicast : plait::Fanout::single_messages,
         .submission = settings_.submits_all ? plait::Submission::every_task : plait::Submission::own_tasks,
         .on_task = bar.is_shown() ? std::function<void(std::uint64_t)>{draw} : nullptr}};
    if (computes) {
      app::agree(runtime_, [&] { source_->fill(*layout_, part(), factorization.tiles()); });
    }
    std::optional<Residual> residual;
    if (settings_.is_checked && computes) {
      residual.emplace(*layout_, factors_, group_).see_matrix(factorization.tiles());
    }
    factor(factorization);
    bar.clear();
    print_end(factorization, product_rate);
    const int status = residual ? check(*residual, factorization) : 0;
    if (!settings_.output.empty() && computes) {
      write_factors(runtime_, *layout_, part(), factorization.tiles(), settings_.output);
    }
    return status;
  }

 private:
  void start() {
    app::agree(runtime_, [this] {
      const double diagonal = settings_.diagonal.value_or(static_cast<double>(settings_.size));
      source_ = settings_.matrix.empty() ? generate(settings_.size, settings_.seed, diagonal)
                                         : open_matrix(settings_.matrix, settings_.dataset);
      const std::uint32_t ranks = runtime_.rank_count();
      const ProcessGrid grid = settings_.grid.empty() ? ProcessGrid::square(ranks) : parse_grid(settings_.grid, ranks);
      const std::size_t size = source_->size();
      const std::size_t tile =
          settings_.tile != 0 ? settings_.tile : sensible_tile(size, std::size_t{ranks} * runtime_.worker_count());
      layout_.emplace(size, std::min(tile, size), grid);
      expect_memory(*layout_, part(), runtime_.self());
      if (is_first_ && !settings_.output.empty()) {
        expect_writable(settings_.output);
      }
    });
  }

  void factor(Factorization& factorization) {
    plait::barrier(runtime_.messages());
    runtime_.scheduler().reset_worker_times();
    const auto begin = std::chrono::steady_clock::now();
    factorization.run();
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    plait::all_reduce(group_, std::span{&seconds_, 1}, plait::Maximum{}).wait();
  }

  void print_beginning() const {
    if (!is_first_) {
      return;
    }
    const std::string origin =
        settings_.matrix.empty() ? fmt::format("generated, seed {}", settings_.seed) : settings_.matrix;
    fmt::print("{} of {} x {} ({})\n", settings_.is_lu ? "LU" : "Cholesky", layout_->size(), layout_->size(), origin);
    fmt::print("  tiles of {} rows, {} x {} of them, on {} x {} ranks of {} worker{}\n",
               layout_->tile(),
               layout_->count(),
               layout_->count(),
               layout_->grid().rows,
               layout_->grid().columns,
               runtime_.worker_count(),
               runtime_.worker_count() == 1 ? "" : "s");
    fmt::print("  {}; network {}, {}\n",
               describe_blas(),
               runtime_.messages().driver_name(),
               settings_.has_multicast ? "multicasts" : "single messages");
    std::fflush(stdout);
  }

  void print_end(const Factorization& factorization, double product_rate) {
    const double busy = over_ranks(busy_seconds());
    const double messages = over_ranks(static_cast<double>(factorization.statistics().messages_sent));
    const double copies = over_ranks(static_cast<double>(factorization.statistics().ranks_sent_to));
    const double bytes = over_ranks(static_cast<double>(factorization.statistics().bytes_sent));
    if (!is_first_) {
      return;
    }
    const double rate = flops_of(factors_, layout_->size()) / seconds_;
    fmt::print("time          {:.4g} s\n", seconds_);
    if (product_rate > 0) {
      fmt::print("speed         {:.4g} GFlop/s: {:.1f} % of the {:.4g} that products of such tiles reach on {} cores\n",
                 rate * 1e-9,
                 100 * rate / product_rate,
                 product_rate * 1e-9,
                 cores());
    } else {
      fmt::print("speed         {:.4g} GFlop/s on {} cores\n", rate * 1e-9, cores());
    }
    fmt::print("workers idle  {:.1f} % of the time\n", 100 * (1 - busy / (seconds_ * cores())));
    fmt::print("sent          {} tiles to {} readers, {}\n", messages, copies, describe_bytes(bytes));
  }

  /// Of this rank's workers since the last reset, which is before the factorisation.
  [[nodiscard]] double busy_seconds() {
    plait::nanoseconds busy{};
    for (const plait::task::WorkerTimes& worker : runtime_.scheduler().worker_times()) {
      busy += worker.busy;
    }
    return std::chrono::duration<double>(busy).count();
  }

  [[nodiscard]] double over_ranks(double mine) {
    plait::all_reduce(group_, std::span{&mine, 1}).wait();
    return mine;
  }

  [[nodiscard]] int check(Residual& residual, const Factorization& factorization) {
    const double value = residual.see_factors(factorization.tiles());
    const bool is_right = value < Residual::accepted_max;  // false for a NaN, too
    if (is_first_) {
      fmt::print("residual      {:.3g} = |A - {}| / (|A| n eps): {}\n",
                 value,
                 settings_.is_lu ? "L U" : "L L^T",
                 is_right ? "right" : "WRONG");
    }
    return is_right ? 0 : 1;
  }

  [[nodiscard]] Part part() const { return settings_.is_lu ? Part::all : Part::lower; }
  [[nodiscard]] double cores() const { return static_cast<double>(runtime_.rank_count() * runtime_.worker_count()); }

  plait::Runtime& runtime_;
  const Settings& settings_;
  plait::Group group_;
  const bool is_first_;
  const Factors factors_;
  std::unique_ptr<MatrixSource> source_;
  std::optional<Layout> layout_;
  double seconds_ = 0;
};

}  // namespace

int run(const Settings& settings) {
  plait::Options options = plait::Options::from_environment();
  options.command = settings.command;
  options.worker_count = settings.workers.value_or(options.worker_count);
  if (!settings.driver.empty()) {
    options.network.network = settings.driver;
  }
  if (!settings.packing.empty()) {
    options.messages.packing = settings.packing;
  }
  plait::Runtime runtime{MPI_COMM_WORLD, options};
  return Run{runtime, settings}();
}

}  // namespace cholesky
