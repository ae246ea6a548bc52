// SPDX-License-Identifier: Apache-2.0
// Charges of both signs in open boxes, where charges of cells cancel; and near pairs by the reach of each particle.
#include "plait/particles/trees/long_range.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/steps/system.hpp"
#include "plait/testing/run_program.hpp"

#include "particles/samples.hpp"

namespace plait::particles::long_range_test {
namespace {

using test::Sample;

/// Forces of charges: like ones repel each other.
constexpr double coupling = -1;

struct Ion {
  Vector place;
  double charge = 0;
};

/// A random salt: as many charges of each sign, anywhere in a cube.
std::vector<Ion> random_salt(std::size_t count) {
  std::mt19937_64 random{7};
  std::uniform_real_distribution<double> coordinate{0, 1};
  std::vector<Ion> ions(count);
  for (std::size_t i = 0; i < count; ++i) {
    ions[i] = {{coordinate(random), coordinate(random), coordinate(random)}, i % 2 == 0 ? 1.0 : -1.0};
  }
  return ions;
}

constexpr std::size_t probe_count = 60;

/// Pairs of opposite charges, all along z, near the points of a lattice: no cell of whole pairs has a charge, and each
/// has a dipole. The first places are those of probes without charge, around the cloud.
std::vector<Ion> dipole_cloud() {
  std::mt19937_64 random{8};
  std::uniform_real_distribution<double> jitter{-0.02, 0.02};
  std::vector<Ion> ions;
  while (ions.size() < probe_count) {
    const Vector place{jitter(random), jitter(random), jitter(random)};
    ions.push_back({Vector{0.5, 0.5, 0.5} + (3 / length(place)) * place, 0});
  }
  for (int i = 0; i < 1000; ++i) {
    const Vector place{
        i % 10 * 0.1 + jitter(random), i / 10 % 10 * 0.1 + jitter(random), i / 100 * 0.1 + jitter(random)};
    ions.push_back({place, 1});
    ions.push_back({place + Vector{0, 0, 1e-3}, -1});
  }
  return ions;
}

std::vector<Vector> forces(const std::vector<Ion>& ions,
                           std::uint32_t ranks,
                           const std::function<void(LongRangeOptions&)>& complete,
                           const SystemOptions& system_options = {}) {
  std::vector<Vector> found(ions.size());
  std::mutex mutex;
  plait::test::run_program({.ranks = ranks}, {.worker_count = 2}, [&](Runtime& runtime) {
    Sample sample;
    for (std::size_t i = runtime.self().value(); i < ions.size(); i += ranks) {
      const std::size_t place = sample.store.add(1);
      sample.store.ids()[place] = i;
      sample.store.positions()[place] = ions[i].place;
      sample.store[sample.mass][place] = ions[i].charge;
    }
    LongRangeOptions options{.charge = sample.mass,
                             .signs = ChargeSigns::both,
                             .acceleration = sample.acceleration,
                             .potential = sample.potential,
                             .coupling = coupling};
    complete(options);
    System system{runtime.messages(), runtime.scheduler(), sample.store, system_options};
    system.add_long_range(options);
    for (std::uint64_t update = 0; update < system_options.steps_between_trees; ++update) {
      system.update();
    }
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      found[sample.store.ids()[i]] = sample.store[sample.acceleration][i];
    }
  });
  return found;
}

std::vector<Vector> direct(const std::vector<Ion>& ions) {
  std::vector<Vector> sums(ions.size());
  for (std::size_t i = 0; i < ions.size(); ++i) {
    for (std::size_t j = 0; j < ions.size(); ++j) {
      const Vector d = ions[j].place - ions[i].place;
      const double r2 = dot(d, d);
      if (i != j) {
        sums[i] += (coupling * ions[j].charge / (r2 * std::sqrt(r2))) * d;
      }
    }
  }
  return sums;
}

/// The mean error along the force, over the rms force: errors of one sign, which do not cancel over particles.
double signed_error(std::span<const Vector> found, std::span<const Vector> expected) {
  double sum = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    sum += dot(found[i] - expected[i], expected[i]) / length(expected[i]);
    norm += dot(expected[i], expected[i]);
  }
  const auto count = static_cast<double>(expected.size());
  return sum / count / std::sqrt(norm / count);
}

class ChargesOnRanks : public testing::TestWithParam<std::uint32_t> {};

TEST_P(ChargesOnRanks, forces_in_a_random_salt_are_near_direct_sums_in_every_mode) {
  const std::vector<Ion> salt = random_salt(3'000);
  const std::vector<Vector> exact = direct(salt);
  for (const LetMode mode : {LetMode::all_to_all, LetMode::exact, LetMode::fast}) {
    for (const Order order : {Order::monopole, Order::quadrupole}) {
      const std::vector<Vector> found = forces(salt, GetParam(), [&](LongRangeOptions& options) {
        options.lets = mode;
        options.order = order;
      });
      EXPECT_LT(test::rms_error(found, exact), order == Order::monopole ? 2e-3 : 5e-4);
      EXPECT_LT(std::abs(signed_error(found, exact)), 1e-4);
    }
  }
}

TEST_P(ChargesOnRanks, a_neutral_cloud_of_dipoles_acts_near_and_far) {
  const std::vector<Ion> cloud = dipole_cloud();
  const std::vector<Vector> exact = direct(cloud);
  const auto probes = [](const std::vector<Vector>& all) { return std::span{all}.first(probe_count); };
  const auto pairs = [](const std::vector<Vector>& all) {  // the charges of each attract each other: only sums count
    std::vector<Vector> sums;
    for (std::size_t i = probe_count; i < all.size(); i += 2) {
      sums.push_back(all[i] + all[i + 1]);
    }
    return sums;
  };
  for (const LetMode mode : {LetMode::all_to_all, LetMode::exact, LetMode::fast}) {
    const std::vector<Vector> found =
        forces(cloud, GetParam(), [mode](LongRangeOptions& options) { options.lets = mode; });
    EXPECT_LT(test::rms_error(probes(found), probes(exact)), 0.03);  // of octupoles, beside a field of dipoles
    EXPECT_LT(std::abs(signed_error(probes(found), probes(exact))), 0.02);
    EXPECT_LT(test::rms_error(pairs(found), pairs(exact)), 0.01);
    EXPECT_LT(std::abs(signed_error(pairs(found), pairs(exact))), 1e-3);
  }
  const std::vector<Vector> finer = forces(cloud, GetParam(), [](LongRangeOptions& options) { options.theta = 0.15; });
  EXPECT_LT(test::rms_error(probes(finer), probes(exact)), 3e-3);
  const std::vector<Vector> without = forces(cloud, GetParam(), [](LongRangeOptions& options) {
    options.signs = ChargeSigns::one;
    options.order = Order::monopole;
  });
  EXPECT_GT(test::rms_error(probes(without), probes(exact)), 0.5);
}

TEST_P(ChargesOnRanks, charges_without_cells_are_the_direct_sum) {
  const std::vector<Ion> salt = random_salt(400);
  const std::vector<Vector> found = forces(salt, GetParam(), [](LongRangeOptions& options) { options.theta = 0; });
  EXPECT_LT(test::rms_error(found, direct(salt)), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ChargesOnRanks, testing::Values(1, 2, 7), [](const auto& instance) {
  return std::to_string(instance.param);
});

/// A rod of charges along x, which 64 ranks divide into short pieces.
std::vector<Ion> rod(double negative) {
  constexpr std::size_t count = 3'000;
  std::mt19937_64 random{9};
  std::uniform_real_distribution<double> coordinate{0, 1};
  std::vector<Ion> ions(count);
  for (std::size_t i = 0; i < count; ++i) {
    ions[i] = {{64 * coordinate(random), coordinate(random), coordinate(random)},
               static_cast<double>(i) < negative * static_cast<double>(count) ? -1.0 : 1.0};
  }
  return ions;
}

/// Far ranks act in blocks, also where trees are kept for another step.
TEST(ManyRanks, forces_are_as_near_to_direct_sums_as_with_a_tree_from_each_rank) {
  for (const double negative : {0.0, 0.5}) {
    const std::vector<Ion> ions = rod(negative);
    const std::vector<Vector> exact = direct(ions);
    for (const Order order : {Order::monopole, Order::quadrupole}) {
      std::vector<double> errors;
      for (const LetMode mode : {LetMode::all_to_all, LetMode::exact, LetMode::fast}) {
        const std::vector<Vector> found = forces(ions,
                                                 64,
                                                 [&](LongRangeOptions& options) {
                                                   options.lets = mode;
                                                   options.order = order;
                                                   options.signs = negative > 0 ? ChargeSigns::both : ChargeSigns::one;
                                                   options.summaries_gathered_max = 8;
                                                 },
                                                 {.grid = {64, 1, 1}, .steps_between_trees = 2});
        errors.push_back(test::rms_error(found, exact));
      }
      EXPECT_LT(errors[0], order == Order::monopole ? 3e-3 : 5e-4);
      EXPECT_LT(errors[1], 1.1 * errors[0] + 1e-6);
      EXPECT_LT(errors[2], 1.1 * errors[0] + 1e-6);
    }
  }
}

/// A sphere of bodies whose reaches differ. Near pairs are taken out of the force again.
struct NearOutcome {
  std::vector<Vector> forces;
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
};

float reach_of(std::uint64_t id) {
  return 0.02F + 0.01F * static_cast<float>(id % 20);
}

/// Of every other particle, or of all.
struct NearCase {
  Search search = Search::gather;
  bool has_all_targets = true;

  [[nodiscard]] bool is_target(std::uint64_t id) const { return has_all_targets || id % 2 == 1; }
};

NearOutcome without_near_pairs(std::uint32_t ranks, std::size_t count, const NearCase& test, LetMode mode) {
  NearOutcome outcome{.forces = std::vector<Vector>(count), .pairs = {}};
  std::mutex mutex;
  plait::test::run_program({.ranks = ranks}, {.worker_count = 2}, [&](Runtime& runtime) {
    const std::size_t rank = runtime.self().value();
    Sample sample;
    test::add_sphere(sample, count, count * rank / ranks, count * (rank + 1) / ranks);
    Particles& store = sample.store;
    const auto reach = store.add_field<float>("reach");
    std::ranges::transform(store.ids(), store[reach].begin(), reach_of);
    std::ranges::transform(store.ids(), store[Particles::kind].begin(), [&](std::uint64_t id) {
      return static_cast<std::uint8_t>(test.is_target(id) ? 1 : 0);
    });
    const auto take_out = [&](const NearPairs& near) {
      const auto* const ids = reinterpret_cast<const std::uint64_t*>(near.view.columns[0]);
      const std::lock_guard lock{mutex};
      for (const std::uint32_t j : near.sources) {
        const Vector d = near.view.sources[j].position - store.positions()[near.target];
        const double r = length(d);
        store[sample.acceleration][near.target] -= (near.view.sources[j].mass / (r * r * r)) * d;
        EXPECT_TRUE(outcome.pairs.emplace(store.ids()[near.target], ids[j]).second) << "each pair once";
      }
    };
    System system{runtime.messages(), runtime.scheduler(), store};
    system.add_long_range({.charge = sample.mass,
                           .acceleration = sample.acceleration,
                           .potential = sample.potential,
                           .targets = {1},
                           .near_reach = reach,
                           .near_search = test.search,
                           .near = take_out,
                           .travels = {Particles::id},
                           .lets = mode});
    system.update();
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < store.size(); ++i) {
      outcome.forces[store.ids()[i]] = store[sample.acceleration][i];
    }
  });
  return outcome;
}

TEST_P(ChargesOnRanks, pairs_within_the_reach_of_either_are_direct_and_passed_to_the_program) {
  constexpr std::size_t count = 800;
  Sample sample;
  test::add_sphere(sample, count);
  for (int number = 0; number < 6; ++number) {
    const Search search = std::array{Search::gather, Search::scatter, Search::symmetric}[number / 2];
    const NearCase test{search, number % 2 == 0};
    NearOutcome expected{.forces = std::vector<Vector>(count), .pairs = {}};
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count && test.is_target(i); ++j) {
        const Vector d = sample.store.positions()[j] - sample.store.positions()[i];
        const float reach = search == Search::gather    ? reach_of(i)
                            : search == Search::scatter ? reach_of(j)
                                                        : std::max(reach_of(i), reach_of(j));
        if (i != j && length(d) < static_cast<double>(reach)) {
          expected.pairs.emplace(i, j);
        } else if (i != j) {
          expected.forces[i] += (sample.store[sample.mass][j] / (dot(d, d) * length(d))) * d;
        }
      }
    }
    for (const LetMode mode : {LetMode::all_to_all, LetMode::exact, LetMode::fast}) {
      const NearOutcome found = without_near_pairs(GetParam(), count, test, mode);
      EXPECT_EQ(found.pairs, expected.pairs);
      EXPECT_LT(test::rms_error(found.forces, expected.forces), 1e-3);
    }
  }
}

TEST(Charges, reach_the_error_that_is_wanted) {
  const std::vector<Ion> salt = random_salt(3'000);
  const std::vector<Vector> found = forces(salt, 1, [](LongRangeOptions& options) { options.force_error = 3e-4; });
  const double error = test::rms_error(found, direct(salt));
  EXPECT_LT(error, 6e-4);
  EXPECT_GT(error, 1e-6);
}

}  // namespace
}  // namespace plait::particles::long_range_test
