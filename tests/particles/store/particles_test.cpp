// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/particles.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace plait::particles::particles_test {
namespace {

struct Star {
  std::uint64_t id;
  Vector velocity;
  float age;
};

/// A store beside a plain list of the same particles.
class ParticlesAndModel : public testing::Test {
 protected:
  void add(std::size_t count) {
    const std::size_t first = store_.add(count);
    for (std::size_t i = first; i < store_.size(); ++i) {
      EXPECT_EQ(store_[age_][i], 0.0F) << "new particles are zero";
      const Star star{next_++, {static_cast<double>(next_), 2.0, -1.0}, static_cast<float>(next_) / 2};
      set(i, star);
      model_.push_back(star);
    }
  }
  void set(std::size_t i, const Star& star) {
    store_.ids()[i] = star.id;
    store_[velocity_][i] = star.velocity;
    store_[age_][i] = star.age;
  }
  void expect_same() const {
    ASSERT_EQ(store_.size(), model_.size());
    for (std::size_t i = 0; i < model_.size(); ++i) {
      ASSERT_EQ(store_.ids()[i], model_[i].id) << i;
      ASSERT_EQ(store_[velocity_][i], model_[i].velocity) << i;
      ASSERT_EQ(store_[age_][i], model_[i].age) << i;
    }
  }

  Particles store_;
  Field<Vector> velocity_ = store_.add_field<Vector>("velocity");
  Field<float> age_ = store_.add_field<float>("age");
  std::vector<Star> model_;
  std::uint64_t next_ = 1;
};

TEST_F(ParticlesAndModel, does_what_a_list_does_under_random_operations) {
  std::mt19937_64 random{1};
  for (int turn = 0; turn < 300; ++turn) {
    switch (random() % 5) {
      case 0:
        add(random() % 50);
        break;
      case 1:
        model_.resize(model_.size() - model_.size() / 3);
        store_.shrink(model_.size());
        break;
      case 2: {
        std::vector<Particles::Index> places;
        std::map<std::uint64_t, std::vector<Star>> kept;
        for (Particles::Index i = 0; i < model_.size(); ++i) {
          if (random() % 3 == 0) {
            places.push_back(i);
          } else {
            kept[model_[i].id].push_back(model_[i]);
          }
        }
        store_.remove_unordered(places);
        ASSERT_EQ(store_.size(), model_.size() - places.size());
        model_.clear();
        for (const std::uint64_t id : store_.ids()) {
          ASSERT_FALSE(kept[id].empty()) << id;
          model_.push_back(kept[id].back());
          kept[id].pop_back();
        }
        break;
      }
      case 3: {
        std::vector<Particles::Index> from(model_.size());
        std::iota(from.begin(), from.end(), 0U);
        std::ranges::shuffle(from, random);
        store_.reorder(from);
        std::vector<Star> moved;
        for (const Particles::Index i : from) {
          moved.push_back(model_[i]);
        }
        model_ = moved;
        break;
      }
      default: {
        std::vector<Particles::Index> places;
        for (Particles::Index i = 0; i < model_.size(); i += 1 + static_cast<Particles::Index>(random() % 5)) {
          places.push_back(i);
        }
        Bytes buffer;
        store_.pack(places, buffer);
        EXPECT_EQ(buffer.size(), places.size() * store_.row_bytes());
        store_.unpack(buffer);
        for (const Particles::Index i : places) {
          model_.push_back(Star{model_[i]});
        }
      }
    }
    expect_same();
  }
}

TEST_F(ParticlesAndModel, packs_chosen_fields_one_after_the_other) {
  add(3);
  Bytes buffer;
  const std::array<AnyField, 2> fields{age_, Particles::id};
  store_.pack(fields, std::array<Particles::Index, 2>{2, 0}, buffer);
  ASSERT_EQ(buffer.size(), 2 * (sizeof(float) + sizeof(std::uint64_t)));
  std::array<float, 2> ages{};
  std::copy_n(buffer.begin(), sizeof ages, reinterpret_cast<std::byte*>(ages.data()));
  EXPECT_EQ(ages[0], model_[2].age);
  EXPECT_EQ(ages[1], model_[0].age);
}

TEST_F(ParticlesAndModel, gives_a_late_field_to_those_that_are_there) {
  add(5);
  const auto late = store_.add_field<double>("late");
  EXPECT_EQ(store_[late][4], 0.0);
  expect_same();
}

TEST_F(ParticlesAndModel, has_fields_whose_size_is_known_at_run_time) {
  add(2);
  const AnyField field = store_.add_field("five floats", 5 * sizeof(float));
  EXPECT_EQ(field.bytes, 5 * sizeof(float));
  EXPECT_EQ(store_.bytes_of(field).size(), 2 * 5 * sizeof(float));
  EXPECT_TRUE(std::ranges::all_of(store_.bytes_of(field), [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_THROW(static_cast<void>(store_.add_field("nothing", 0)), Error);
}

TEST_F(ParticlesAndModel, refuses_two_fields_of_one_name_and_bytes_of_no_whole_particle) {
  EXPECT_THROW(store_.add_field<int>("age"), Error);
  const Bytes buffer(store_.row_bytes() + 1);
  EXPECT_THROW(store_.unpack(buffer), Error);
}

}  // namespace
}  // namespace plait::particles::particles_test
