// SPDX-License-Identifier: Apache-2.0
#include "plait/c_particles/handles.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/c_particles/detail/fields.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::c_particles::handles_test {

/// Options that had `first` in their first version, and `added` since a later one.
struct GrownOptions {
  std::size_t size = 0;
  double first = 0;
  double added = 0;
};

}  // namespace plait::c_particles::handles_test

template <>
inline constexpr std::size_t plait::c_particles::detail::first_size<plait::c_particles::handles_test::GrownOptions> =
    offsetof(plait::c_particles::handles_test::GrownOptions, added);

namespace plait::c_particles::handles_test {
namespace {

TEST(Options, of_a_program_of_an_earlier_version_have_defaults_for_what_they_lack) {
  const GrownOptions defaults{.first = 1, .added = 2};
  GrownOptions given{.first = 0, .added = 77};
  detail::set_defaults(&given, offsetof(GrownOptions, added), defaults);
  EXPECT_EQ(given.first, 1);
  EXPECT_EQ(given.added, 77) << "is behind the program's structure";
  given.first = 5;
  const GrownOptions known = detail::known_options(&given, defaults);
  EXPECT_EQ(known.first, 5);
  EXPECT_EQ(known.added, 2);
  given.size = sizeof(std::size_t);
  EXPECT_THROW((void)detail::known_options(&given, defaults), Error) << "no version is as small";
  EXPECT_THROW(detail::set_defaults(&given, sizeof(std::size_t), defaults), Error);
}

TEST(Store, knows_the_types_of_the_fields_that_all_stores_have) {
  const plait_store made;
  const std::map<int, std::size_t> bytes{
      {PLAIT_DOUBLE, 8}, {PLAIT_INT64, 8}, {PLAIT_FLOAT, 4}, {plait_store::byte_type, 1}};
  ASSERT_EQ(made.types.size(), made.store.field_count());
  for (std::uint32_t field = 0; field < made.types.size(); ++field) {
    const plait_store::Type& type = made.types[field];
    EXPECT_EQ(bytes.at(type.type) * static_cast<std::size_t>(type.components), made.store.bytes_of_column(field));
  }
}

TEST(Store, numbers_fields_as_the_header_for_c_does) {
  EXPECT_EQ(particles::Particles::position.column, PLAIT_POSITION);
  EXPECT_EQ(particles::Particles::id.column, PLAIT_ID);
  EXPECT_EQ(particles::Particles::kind.column, PLAIT_KIND);
  EXPECT_EQ(particles::Particles::cost.column, PLAIT_COST);
}

TEST(Store, gives_values_where_they_are) {
  plait_store made;
  int field = 0;
  ASSERT_EQ(plait_store_add_field(&made, "spin", PLAIT_DOUBLE, 3, &field), PLAIT_SUCCESS);
  ASSERT_EQ(plait_store_add(&made, 2, nullptr), PLAIT_SUCCESS);
  const particles::Field<particles::Vector> spin{static_cast<std::uint32_t>(field)};
  EXPECT_EQ(plait_store_values(&made, field), made.store[spin].data());
}

}  // namespace
}  // namespace plait::c_particles::handles_test
