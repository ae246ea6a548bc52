// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/neighbours/contact.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/trees/tree_build.hpp"

namespace plait::particles::contact_test {
namespace {

ContactLaw head_on(double restitution, double period) {
  return ContactLaw{{.radius = 0.01, .period = period, .restitution = restitution}};
}

/// Bodies that are stepped by leapfrog under a tree and contacts alone; the damper's velocity is predicted from the
/// half kick.
class Pair {
 public:
  Pair(const ContactLaw& law, double gap, double speed) : law_{law} {
    store_.add(2);
    store_[mass_][0] = 1e-12;
    store_[mass_][1] = 3e-12;
    store_.ids()[1] = 1;
    store_.positions()[0] = {0.3, 0.2, 0.1};
    store_.positions()[1] = store_.positions()[0] + gap * Vector{0.6, 0, 0.8};
    store_[velocity_][0] = speed * Vector{0.6, 0, 0.8};
    store_[predicted_][0] = store_[velocity_][0];
    force();
    energies_.advance(sums_, 0);
  }
  void step(double dt) {
    for (std::size_t i = 0; i < 2; ++i) {
      store_[velocity_][i] += dt / 2 * store_[acceleration_][i];
      store_.positions()[i] += dt * store_[velocity_][i];
      store_[predicted_][i] = store_[velocity_][i] + dt / 2 * store_[acceleration_][i];
    }
    force();
    energies_.advance(sums_, dt);
    for (std::size_t i = 0; i < 2; ++i) {
      store_[velocity_][i] += dt / 2 * store_[acceleration_][i];
    }
  }
  [[nodiscard]] double separation_speed() const { return length(store_[velocity_][1] - store_[velocity_][0]); }
  [[nodiscard]] double energy() const {
    double sum = energies_.spring + energies_.dissipated;
    for (std::size_t i = 0; i < 2; ++i) {
      sum += store_[mass_][i] / 2 * (dot(store_[velocity_][i], store_[velocity_][i]) + store_[potential_][i]);
    }
    return sum;
  }

 private:
  void force() {
    std::ranges::fill(store_[acceleration_], Vector{});
    std::ranges::fill(store_[potential_], 0.0);
    Tree tree;
    build_tree(tree, store_, {.charge = mass_, .near_radius = law_.radius, .travels = {predicted_}});
    WalkSpace space;
    space.near_sums.assign(contact_sums, 0);
    const WalkOptions options{.near = contacts(law_, store_, {mass_, predicted_, acceleration_, potential_})};
    const TreeView view = tree.view();
    walk({view}, {store_, tree, {}, acceleration_, potential_}, tree.batches(), options, space);
    sums_ = space.near_sums;
  }

  ContactLaw law_;
  Particles store_;
  Field<double> mass_ = store_.add_field<double>("mass");
  Field<double> potential_ = store_.add_field<double>("potential");
  Field<Vector> velocity_ = store_.add_field<Vector>("velocity");
  Field<Vector> predicted_ = store_.add_field<Vector>("predicted");
  Field<Vector> acceleration_ = store_.add_field<Vector>("acceleration");
  std::vector<double> sums_ = std::vector<double>(contact_sums);
  ContactEnergies energies_;
};

struct Scatter {
  double worst = 0;         ///< Difference from the restitution.
  double energy_worst = 0;  ///< Error over the kinetic energy before.
};

/// Two bodies of masses 1 : 3, too light to attract, meet head on; contacts begin anywhere within a time step.
Scatter scatter_of(double restitution, int contact_steps) {
  Scatter scatter;
  const double dt = 1.0 / 1024;
  const ContactLaw law = head_on(restitution, contact_steps * dt);
  const double speed = law.radius / (1.25 * contact_steps * dt);
  const int phases = 20;
  for (int i = 0; i < phases; ++i) {
    Pair pair{law, law.radius + speed * dt * (2 + (i + 0.5) / phases), speed};
    const double before = pair.energy();
    for (int step = 0; step < 2 * contact_steps; ++step) {
      pair.step(dt);
    }
    const double reduced_energy = 0.5 * 0.75e-12 * speed * speed;
    scatter.worst = std::max(scatter.worst, std::abs(pair.separation_speed() / speed - restitution));
    scatter.energy_worst = std::max(scatter.energy_worst, std::abs(pair.energy() - before) / reduced_energy);
  }
  return scatter;
}

TEST(Contact, rebounds_with_the_restitution_within_2_percent) {
  for (const double restitution : {0.5, 0.9}) {
    const Scatter scatter = scatter_of(restitution, 32);
    EXPECT_LT(scatter.worst, 0.02 * restitution);
    EXPECT_LT(scatter.energy_worst, 0.03);
  }
  EXPECT_LT(scatter_of(0.1, 512).worst, 0.02 * 0.1);  // the harder the damper, the shorter the steps it takes
}

TEST(Contact, rebounds_ever_closer_to_the_restitution_with_shorter_steps) {
  const double coarse = scatter_of(0.5, 32).worst;
  const double fine = scatter_of(0.5, 128).worst;
  const double finest = scatter_of(0.5, 512).worst;
  EXPECT_LT(fine, coarse / 2);
  EXPECT_LT(finest, fine / 2);
}

TEST(Contact, is_the_same_for_both_partners) {
  const ContactLaw law = head_on(0.5, 32);
  const Vector offset{0.004, -0.003, 0.001};
  const Vector velocity{-0.1, 0.2, 0.3};
  const ContactForce a = contact_force(law, {offset, velocity, 2, 6});
  const ContactForce b = contact_force(law, {-1 * offset, -1 * velocity, 6, 2});
  EXPECT_LT(length(2 * a.acceleration + 6 * b.acceleration), 1e-12 * length(a.acceleration));
  EXPECT_DOUBLE_EQ(a.spring_energy, b.spring_energy);
  EXPECT_DOUBLE_EQ(a.dissipation_rate, b.dissipation_rate);
}

TEST(Contact, without_loss_has_no_damper) {
  EXPECT_EQ(head_on(1, 32).eta, 0);
}

}  // namespace
}  // namespace plait::particles::contact_test
