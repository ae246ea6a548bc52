// SPDX-License-Identifier: Apache-2.0
// Steps of a homogeneous sphere, of ten Plummer clumps and of a thin ring with the sizes of leaves, groups and batches
// that are chosen by default, beside sizes measured at the start, and beside 8, 64 and 1024. Steps of the three
// alternate in one run.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using namespace plait::particles;

constexpr double softening = 1e-4;
constexpr double time_step = 1e-5;  // particles hardly move: all steps are alike

enum class Shape : std::uint8_t { sphere, clumps, ring };

/// Random places of one shape; each rank has others.
class Places {
 public:
  Places(Shape shape, std::uint64_t seed) : shape_{shape}, random_{seed} {
    std::mt19937_64 of_all{7};
    for (Vector& centre : centres_) {
      centre = 10 * in_ball(of_all);
    }
  }

  Vector next() {
    if (shape_ == Shape::sphere) {
      return in_ball(random_);
    }
    std::uniform_real_distribution<double> part{0, 1};
    if (shape_ == Shape::ring) {
      const double angle = 2 * std::numbers::pi * part(random_);
      const double radius = 1 + 0.1 * part(random_);
      return {radius * std::cos(angle), radius * std::sin(angle), 1e-4 * part(random_)};
    }
    constexpr double radius_max = 20;
    double radius = 2 * radius_max;
    while (radius > radius_max) {
      radius = 1 / std::sqrt(std::pow(part(random_), -2.0 / 3) - 1);  // the mass within it is uniform
    }
    const Vector direction = in_ball(random_);
    return centres_[clump_++ % centres_.size()] + (radius / length(direction)) * direction;
  }

 private:
  static Vector in_ball(std::mt19937_64& random) {
    std::uniform_real_distribution<double> coordinate{-1, 1};
    Vector p;
    do {
      p = {coordinate(random), coordinate(random), coordinate(random)};
    } while (dot(p, p) > 1 || dot(p, p) < 1e-6);
    return p;
  }

  Shape shape_;
  std::mt19937_64 random_;
  std::array<Vector, 10> centres_;
  std::size_t clump_ = 0;
};

enum class Sizes : std::uint8_t { chosen, measured, fixed };

struct Case {
  Shape shape;
  const char* name;
  Precision precision;
};

/// A system of this rank's share of the particles.
class Bodies {
 public:
  Bodies(plait::Runtime& runtime, const Case& of, std::size_t count, Sizes sizes) : runtime_{runtime} {
    const std::size_t share = count / runtime.rank_count();
    store_.add(share);
    Places places{of.shape, runtime.self().value() + 1};
    for (std::size_t i = 0; i < share; ++i) {
      store_.positions()[i] = places.next();
      store_.ids()[i] = share * runtime.self().value() + i;
      store_[mass_][i] = 1.0 / static_cast<double>(count);
    }
    LongRangeOptions options{.charge = mass_,
                             .acceleration = acceleration_,
                             .potential = potential_,
                             .theta = 0.7,
                             .precision = of.precision,
                             .softening = softening,
                             .measures_sizes = sizes == Sizes::measured};
    if (sizes == Sizes::fixed) {
      options.leaf_bodies_max = 8;
      options.group_bodies_max = 64;
      options.batch_bodies_max = 1024;
    }
    system_ = std::make_unique<System>(
        runtime.messages(), runtime.scheduler(), store_, SystemOptions{.steps_between_decompositions = 1000});
    gravity_ = &system_->add_long_range(options);
    add_leapfrog(*system_, {velocity_, acceleration_, time_step});
    system_->update();
  }

  double seconds_a_step() {
    plait::barrier(runtime_.messages());
    const bench::Stopwatch watch;
    system_->step();
    plait::barrier(runtime_.messages());
    return watch.seconds();
  }

  [[nodiscard]] std::string sizes() const {
    const TreeOptions& tree = gravity_->tree()->options();
    return fmt::format("{}/{}/{}", tree.leaf_bodies_max, tree.group_bodies_max, tree.batch_bodies_max);
  }

 private:
  plait::Runtime& runtime_;
  Particles store_;
  Field<double> mass_ = store_.add_field<double>("mass");
  Field<Vector> velocity_ = store_.add_field<Vector>("velocity");
  Field<Vector> acceleration_ = store_.add_field<Vector>("acceleration");
  Field<double> potential_ = store_.add_field<double>("potential");
  std::unique_ptr<System> system_;
  const LongRange* gravity_ = nullptr;
};

void measure(bench::Report& report, plait::Runtime& runtime, const Case& of, std::size_t count) {
  Bodies chosen{runtime, of, count, Sizes::chosen};
  Bodies measured{runtime, of, count, Sizes::measured};
  Bodies fixed{runtime, of, count, Sizes::fixed};
  std::array<std::vector<double>, 3> seconds;
  const int rounds = report.is_full() ? 21 : 5;
  for (int round = 0; round < rounds; ++round) {
    seconds[0].push_back(chosen.seconds_a_step());
    seconds[1].push_back(measured.seconds_a_step());
    seconds[2].push_back(fixed.seconds_a_step());
  }
  std::map<std::string, std::string> params{{"shape", of.name},
                                            {"particles", std::to_string(count)},
                                            {"precision", of.precision == Precision::mixed ? "mixed" : "full"},
                                            {"ranks", std::to_string(runtime.rank_count())},
                                            {"workers", std::to_string(runtime.worker_count())},
                                            {"kernel", best_kernels().name}};
  params["sizes"] = chosen.sizes();
  report.add({"step: chosen sizes",
              params,
              seconds[0],
              "s",
              fmt::format("measured at start: {}", measured.sizes()),
              bench::Spread{seconds[1]}.median});
  params["sizes"] = fixed.sizes();
  report.add({"step: fixed sizes", params, seconds[2], "s"});
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  const auto add_options = [&count](CLI::App& app) {
    app.add_option("--particles", count, "In total; 0: 100000, or 1000000 with --full [0]");
  };
  bench::Report report{"tree_sizes",
                       "the sizes of trees that are chosen by default are at most 5 % slower than measured ones",
                       bench::Place{.ranks = {2}},
                       argc,
                       argv,
                       add_options};
  plait::MpiSession session{argc, argv};
  plait::Options options = plait::Options::from_environment();
  options.trace_folder.clear();
  plait::Runtime runtime{MPI_COMM_WORLD, options};
  const std::size_t particles = count > 0 ? count : report.is_full() ? 1'000'000 : 100'000;
  for (const Precision precision : {Precision::mixed, Precision::full}) {
    for (const auto& [shape, name] :
         {std::pair{Shape::sphere, "sphere"}, {Shape::clumps, "clumps"}, {Shape::ring, "ring"}}) {
      measure(report, runtime, {shape, name, precision}, particles);
    }
  }
  report.finish();
}
