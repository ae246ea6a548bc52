// SPDX-License-Identifier: Apache-2.0
#include "fft/measure.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/base/random.hpp"
#include "plait/fft/execution.hpp"
#include "plait/fft/mpi/variants.hpp"

#ifdef BENCH_HAS_FFTW_MPI
#include "fft/fftw_mpi.hpp"
#endif
#include "fft/moves_nothing.hpp"
#include "support/stopwatch.hpp"

namespace bench_fft {

namespace {

using plait::fft::BlockBytes;
using plait::fft::Exchange;
using plait::fft::Execution;
using plait::fft::Index;
using plait::fft::Plan;
using plait::fft::PlanOptions;
using plait::fft::Variant;
using Complex = std::complex<double>;

double value_at(std::size_t variable, Index i, Index j, Index k) {
  const auto mixed = static_cast<std::uint64_t>(i) * 1'000'003 + static_cast<std::uint64_t>(j) * 10'007 +
                     static_cast<std::uint64_t>(k) + variable * 7'919;
  return plait::Random{mixed}.unit() - 0.5;
}

[[noreturn]] void fail(const std::string& who, const std::string& what) {
  throw plait::Error{plait::ErrorCode::user_task, fmt::format("{} gave a wrong result: {}", who, what)};
}

/// An exchange that an execution requested.
struct Asked {
  plait::comm::Group group;
  BlockBytes bytes;
};

/// The arrays, shared by all subjects, which divide them alike.
struct Arrays {
  Arrays(const Plan& plan, std::size_t variables) {
    const plait::fft::ArrayLayout& layout = plan.physical();
    for (std::size_t variable = 0; variable < variables; ++variable) {
      values.emplace_back(static_cast<std::size_t>(layout.size()));
      results.emplace_back(static_cast<std::size_t>(layout.size()));
      modes.emplace_back(static_cast<std::size_t>(plan.spectral().size()));
      for (Index i = layout.box.low[0]; i < layout.box.high[0]; ++i) {
        for (Index j = layout.box.low[1]; j < layout.box.high[1]; ++j) {
          for (Index k = layout.box.low[2]; k < layout.box.high[2]; ++k) {
            values.back()[static_cast<std::size_t>(layout.offset(i, j, k))] = value_at(variable, i, j, k);
          }
        }
      }
    }
  }

  void check_and_clear(const std::string& name) {
    for (std::size_t variable = 0; variable < values.size(); ++variable) {
      for (std::size_t point = 0; point < values[variable].size(); ++point) {
        if (!(std::abs(values[variable][point] - results[variable][point]) < 1e-13)) {
          fail(name, fmt::format("the round trip of variable {} changed point {} of this rank", variable, point));
        }
      }
      std::ranges::fill(results[variable], 0.0);
    }
  }

  std::vector<std::vector<double>> values;
  std::vector<std::vector<double>> results;
  std::vector<std::vector<Complex>> modes;
};

/// Transforms several variables there and back with one variant.
class Variables {
 public:
  Variables(plait::Runtime& runtime, const Case& wanted, const PlanOptions& options, std::unique_ptr<Arrays>& arrays)
      : plan_{runtime.messages(), runtime.scheduler(), {wanted.length, wanted.length, wanted.length}, options} {
    if (arrays == nullptr) {
      arrays = std::make_unique<Arrays>(plan_, wanted.variables);
    }
    const double scale = 1 / static_cast<double>(plan_.point_count());
    for (std::size_t variable = 0; variable < wanted.variables; ++variable) {
      forward_.emplace_back(plan_, std::span<const double>{arrays->values[variable]}, arrays->modes[variable]);
      backward_.emplace_back(
          plan_, std::span<const Complex>{arrays->modes[variable]}, arrays->results[variable], scale);
    }
  }

  void run() {
    run_all(forward_);
    run_all(backward_);
  }
  [[nodiscard]] const Plan& plan() const { return plan_; }

 private:
  static void run_all(std::vector<Execution>& executions) {
    std::vector<Execution*> all;
    for (Execution& execution : executions) {
      all.push_back(&execution);
    }
    plait::fft::run(all);
  }

  Plan plan_;
  std::vector<Execution> forward_;
  std::vector<Execution> backward_;
};

#ifdef BENCH_HAS_FFTW_MPI
/// FFTW-MPI with as many variables. It can only transform them one after the other.
class FftwVariables {
 public:
  FftwVariables(const Case& wanted, Order order) : length_{wanted.length} {
    for (std::size_t variable = 0; variable < wanted.variables; ++variable) {
      transforms_.emplace_back(MPI_COMM_WORLD, length_, order);
    }
    restore();
  }

  void forward() { std::ranges::for_each(transforms_, &FftwMpi::forward); }
  void backward() { std::ranges::for_each(transforms_, &FftwMpi::backward); }
  /// Restores the values, which transforms without a scale have changed.
  void restore() {
    for (std::size_t variable = 0; variable < transforms_.size(); ++variable) {
      const FftwMpi& transform = transforms_[variable];
      const auto [first, count] = transform.planes;
      for (Index row = 0; row < count * length_; ++row) {
        double* const values = transform.physical + row * transform.row_length;
        for (Index k = 0; k < length_; ++k) {
          values[k] = value_at(variable, first + row / length_, row % length_, k);
        }
      }
    }
  }
  [[nodiscard]] const FftwMpi& front() const { return transforms_.front(); }

 private:
  Index length_;
  std::deque<FftwMpi> transforms_;
};
#endif

/// The exchanges of a plan without computing: starts all, then waits for all, for each variable.
class Exchanges {
 public:
  Exchanges(const Variant& variant, const std::vector<Asked>& asked) {
    for (const Asked& one : asked) {
      exchanges_.push_back(variant.make(one.group, one.bytes));
    }
  }
  void run() {
    for (const auto& exchange : exchanges_) {
      exchange->start();
    }
    for (const auto& exchange : exchanges_) {
      exchange->wait();
    }
  }

 private:
  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

/// The subjects, which alternate.
class Contest {
 public:
  Contest(plait::Runtime& runtime, const Case& wanted) : runtime_{runtime}, wanted_{wanted} {
    add_variants();
    add_fftw();
    add_parts();
  }

  [[nodiscard]] Measured measure() {
    const bench::Stopwatch all;
    for (std::size_t round = 0; round < wanted_.rounds + 1; ++round) {
      for (const auto& [name, run] : subjects_) {
        const double seconds = time(run);
        if (round > 0) {
          measured_.seconds[name].push_back(seconds);
        } else if (std::ranges::find(wanted_.variants, name) != wanted_.variants.end()) {
          arrays_->check_and_clear(name);  // the first round checks results and warms up
        }
      }
      for (const auto& restore : restore_) {
        restore();
      }
      double used = all.seconds();
      outside([&] { MPI_Bcast(&used, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); });
      if (used > wanted_.seconds_max && round >= 3) {
        break;
      }
    }
    return std::move(measured_);
  }

 private:
  /// Calls MPI while the runtime does not.
  void outside(const std::function<void()>& call) {
    runtime_.messages().flush();
    const auto held = runtime_.messages().hold();
    call();
  }

  double time(const std::function<void()>& run) {
    outside([] { MPI_Barrier(MPI_COMM_WORLD); });
    const bench::Stopwatch watch;
    run();
    double seconds = watch.seconds();
    outside([&] { MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); });
    return seconds;
  }

  void add_variants() {
    PlanOptions options{
        .grid = wanted_.grid, .pieces = wanted_.pieces, .more = plait::fft::mpi::variants(MPI_COMM_WORLD)};
    for (const std::string& name : wanted_.variants) {
      options.variant = name;
      try {
        auto variables = std::make_unique<Variables>(runtime_, wanted_, options, arrays_);
        if (name == "PLT" || name == "automatic") {
          measured_.plan += variables->plan().describe();
        }
        subjects_.emplace_back(name, [one = variables.get()] { one->run(); });
        variables_.emplace_back(name, std::move(variables));
      } catch (const plait::Error& error) {
        if (error.code() != plait::ErrorCode::network) {
          throw;
        }
        measured_.left_out.push_back(fmt::format("{} is left out: {}", name, error.what()));
      }
    }
  }

#ifdef BENCH_HAS_FFTW_MPI
  void add_fftw() {
    measured_.fftw_version = fftw_version;
    for (const auto& [name, order] :
         {std::pair{"FFTW-MPI transposed", Order::transposed}, std::pair{"FFTW-MPI natural", Order::natural}}) {
      try {
        std::unique_ptr<FftwVariables> made;
        outside([&] { made = std::make_unique<FftwVariables>(wanted_, order); });
        if (order == Order::transposed) {
          compare(*made);
        }
        subjects_.emplace_back(name, [this, one = made.get()] {
          outside([&] {
            one->forward();
            one->backward();
          });
        });
        restore_.emplace_back([one = made.get()] { one->restore(); });
        fftw_.push_back(std::move(made));
      } catch (const std::runtime_error& error) {
        measured_.left_out.push_back(fmt::format("{} is left out: {}", name, error.what()));
      }
    }
  }

  /// Checks that the spectra are equal, if FFTW divides the array as plait does.
  void compare(FftwVariables& fftw) {
    if (variables_.empty()) {
      return;
    }
    Variables& ours = *variables_.front().second;
    ours.run();
    outside([&] { fftw.forward(); });
    const plait::fft::ArrayLayout& layout = ours.plan().spectral();
    const FftwMpi& theirs = fftw.front();
    const auto [first, count] = theirs.spectral_planes;
    if (first != layout.box.low[1] || count != layout.box.extent(1) || layout.box.low[2] != 0 ||
        layout.box.extent(2) != wanted_.length / 2 + 1) {
      measured_.left_out.emplace_back("spectra are not compared: FFTW divides this array in another way");
      fftw.restore();
      return;
    }
    const double tolerance = 1e-15 * std::pow(static_cast<double>(wanted_.length), 3);
    for (Index j = 0; j < count; ++j) {
      for (Index i = 0; i < wanted_.length; ++i) {
        for (Index k = 0; k < layout.box.extent(2); ++k) {
          const Complex one = theirs.spectral[(j * wanted_.length + i) * layout.box.extent(2) + k];
          const Complex other = arrays_->modes[0][static_cast<std::size_t>(layout.offset(i, first + j, k))];
          if (!(std::abs(one - other) < tolerance)) {
            fail(variables_.front().first, fmt::format("mode {} {} {} is not that of FFTW", i, first + j, k));
          }
        }
      }
    }
    fftw.restore();
  }

  std::vector<std::unique_ptr<FftwVariables>> fftw_;
#else
  void add_fftw() { measured_.left_out.emplace_back("FFTW-MPI is left out: not built (Debian: libfftw3-mpi-dev)"); }
#endif

  void add_parts() {
    PlanOptions options{.grid = wanted_.grid, .variant = "nothing moves"};
    options.more.push_back({options.variant, "", "", [this](const plait::comm::Group& group, const BlockBytes& bytes) {
                              asked_.push_back({group, bytes});
                              return std::make_unique<MovesNothing>(bytes);
                            }});
    computing_ = std::make_unique<Variables>(runtime_, wanted_, options, arrays_);
    subjects_.emplace_back("computing", [this] { computing_->run(); });
    const std::vector<Variant> own = plait::fft::variants();
    const std::vector<Variant> mpi = plait::fft::mpi::variants(MPI_COMM_WORLD);
    ours_ = std::make_unique<Exchanges>(plait::fft::find_variant(own, "PLN"), asked_);
    theirs_ = std::make_unique<Exchanges>(plait::fft::find_variant(mpi, "MIN"), asked_);
    subjects_.emplace_back("exchanges by plait", [this] { ours_->run(); });
    subjects_.emplace_back("exchanges by MPI", [this] { theirs_->run(); });
  }

  plait::Runtime& runtime_;
  const Case& wanted_;
  Measured measured_;
  std::unique_ptr<Arrays> arrays_;
  std::vector<Asked> asked_;
  std::vector<std::pair<std::string, std::unique_ptr<Variables>>> variables_;
  std::unique_ptr<Variables> computing_;
  std::unique_ptr<Exchanges> ours_;
  std::unique_ptr<Exchanges> theirs_;
  std::vector<std::pair<std::string, std::function<void()>>> subjects_;
  std::vector<std::function<void()>> restore_;  ///< Between rounds.
};

}  // namespace

Measured measure(plait::Runtime& runtime, const Case& wanted) {
  return Contest{runtime, wanted}.measure();
}

}  // namespace bench_fft
