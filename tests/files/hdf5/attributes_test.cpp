// SPDX-License-Identifier: Apache-2.0
#include "plait/files/hdf5/attributes.hpp"

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::files::attributes_test {
namespace {

enum class Order : std::uint8_t { monopole = 1, quadrupole = 2 };

template <class Work>
std::string trouble_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Attributes, give_back_numbers_enumerations_texts_and_lists) {
  Attributes values;
  values.set("Theta", 0.5F);
  values.set("Order", Order::quadrupole);
  values.set("Name", "ring");
  values.set("Bounds", std::vector<double>{1, 2});
  EXPECT_EQ(values.get<double>("Theta"), 0.5);
  EXPECT_EQ(values.get<Order>("Order"), Order::quadrupole);
  EXPECT_EQ(values.get<std::string>("Name"), "ring");
  EXPECT_EQ(values.get<std::vector<double>>("Bounds"), (std::vector<double>{1, 2}));
}

TEST(Attributes, take_a_number_for_a_list_of_one_and_a_list_of_one_for_a_number) {
  Attributes values;
  values.set("Box", std::uint64_t{3});
  values.set("Time", std::vector<double>{0.25});
  EXPECT_EQ(values.get<std::vector<double>>("Box"), std::vector<double>{3});
  EXPECT_EQ(values.get<double>("Time"), 0.25);
  EXPECT_EQ(values.get<double>("Box"), 3.0);
}

TEST(Attributes, that_are_missing_or_do_not_fit_are_named) {
  Attributes values{"run.hdf5: RunState"};
  values.set("Grid", 300);
  values.set("Step", 0.5);
  values.set("Name", "ring");
  const auto get = [&](auto kind, const char* key) {
    return trouble_of([&] { static_cast<void>(values.get<decltype(kind)>(key)); });
  };
  EXPECT_EQ(get(0.0, "Theta"), "run.hdf5: RunState has no attribute 'Theta'");
  EXPECT_EQ(get(std::uint8_t{}, "Grid"),
            "run.hdf5: RunState has an attribute 'Grid' that is 300, which is out of range");
  EXPECT_NE(get(std::uint64_t{}, "Step").find("a whole number is wanted"), std::string::npos);
  EXPECT_NE(get(0.0, "Name").find("is not one number"), std::string::npos);
  EXPECT_NE(get(std::string{}, "Grid").find("is not a text"), std::string::npos);
}

}  // namespace
}  // namespace plait::files::attributes_test
