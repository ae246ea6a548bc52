// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/checks.hpp"

#include <string>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::particles::checks_test {
namespace {

Particles grid(std::size_t count) {
  Particles particles;
  particles.add(count);
  for (std::size_t i = 0; i < count; ++i) {
    particles.ids()[i] = 100 - i;
    particles.positions()[i] = {static_cast<double>(i % 3), static_cast<double>(i / 3), 0};
  }
  return particles;
}

template <class Check>
std::string trouble_of(Check check) {
  try {
    check();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Checks, let_good_particles_pass) {
  const Particles particles = grid(60);
  EXPECT_NO_THROW(refuse_equal_ids(particles.ids(), "here"));
  EXPECT_NO_THROW(refuse_equal_places(particles, "here"));
  EXPECT_NO_THROW(refuse_equal_places(grid(0), "here"));
}

TEST(Checks, name_an_id_that_occurs_twice) {
  Particles particles = grid(60);
  particles.ids()[40] = 93;
  EXPECT_EQ(trouble_of([&] { refuse_equal_ids(particles.ids(), "a.hdf5"); }), "a.hdf5: id 93 occurs twice");
}

TEST(Checks, name_both_particles_at_one_place) {
  Particles particles = grid(60);
  particles.positions()[40] = particles.positions()[7];
  const std::string trouble = trouble_of([&] { refuse_equal_places(particles, "a.hdf5"); });
  EXPECT_EQ(trouble.find("a.hdf5: particles "), 0U) << trouble;
  EXPECT_NE(trouble.find("60"), std::string::npos) << trouble;
  EXPECT_NE(trouble.find("93"), std::string::npos) << trouble;
}

}  // namespace
}  // namespace plait::particles::checks_test
