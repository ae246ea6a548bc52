// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/check_serialisation.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/local_rank.hpp"

namespace plait::data::check_serialisation_test {
namespace {

struct Good {
  std::string name;
  std::vector<double> numbers;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, numbers);
  }
};

/// Forgets one member.
struct Forgetful {
  std::string name;
  int forgotten = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name);
  }
  friend bool operator==(const Forgetful&, const Forgetful&) = default;
};

/// Loads in another order than it saves.
struct Crossed {
  std::uint16_t first = 0;
  std::uint16_t second = 0;
  template <class Archive>
  void save(Archive& archive) const {
    archive(std::uint16_t{9}, first, second);
  }
  template <class Archive>
  void load(Archive& archive) {
    std::uint16_t version = 0;
    archive(version, second, first);
  }
};

struct Comparable {
  double value = 0;
  friend bool operator==(const Comparable&, const Comparable&) = default;
};

std::string error_of(const auto& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    return error.what();
  }
  return "";
}

TEST(CheckSerialisation, lets_pass_what_comes_back_as_it_was) {
  check_serialisation(Good{.name = "a", .numbers = {1, std::numeric_limits<double>::quiet_NaN()}});
  check_serialisation(Comparable{std::numeric_limits<double>::quiet_NaN()});
  check_serialisation(Forgetful{.name = "a", .forgotten = 0});
}

TEST(CheckSerialisation, names_the_element_and_the_byte_of_a_difference) {
  const std::string forgotten =
      error_of([] { check_serialisation(Forgetful{.name = "a", .forgotten = 1}, ElementId{12}); });
  EXPECT_NE(forgotten.find("element 12"), std::string::npos) << forgotten;
  EXPECT_NE(forgotten.find("Forgetful"), std::string::npos) << forgotten;
  EXPECT_NE(forgotten.find("not packed"), std::string::npos) << forgotten;
  const std::string crossed = error_of([] { check_serialisation(Crossed{.first = 1, .second = 2}, ElementId{3}); });
  EXPECT_NE(crossed.find("element 3"), std::string::npos) << crossed;
  EXPECT_NE(crossed.find("from byte 2 on"), std::string::npos) << crossed;
}

TEST(CheckSerialisation, looks_at_every_element_of_a_collection) {
  plait::test::run_on_ranks({.ranks = 2}, {.worker_count = 1}, [](plait::test::LocalRank& rank) {
    const Collection<Good> good{rank, Shape{10}, [](ElementId, Index) { return Good{.name = "x", .numbers = {1}}; }};
    EXPECT_EQ(check_serialisation(good), good.local_count());
    const Collection<Crossed> bad{rank, Shape{10}, [](ElementId id, Index) {
                                    return Crossed{.first = 1,
                                                   .second = static_cast<std::uint16_t>(1 + id.value() / 7)};
                                  }};
    const std::string sentence = error_of([&] { check_serialisation(bad); });
    EXPECT_EQ(sentence.find("element 7") != std::string::npos, rank.self().value() == 1) << sentence;
  });
}

/// Moves the name, and forgets the rest.
struct NameOnly {
  static std::size_t size(const Forgetful& thing) { return thing.name.size(); }
  static void pack(const Forgetful& thing, Packer& packer) { packer.bytes(std::as_bytes(std::span{thing.name})); }
  static void unpack(Forgetful& thing, Unpacker& unpacker) {
    thing.name.resize(unpacker.left());
    unpacker.bytes(std::as_writable_bytes(std::span{thing.name}));
  }
};

TEST(CheckSerialisation, finds_what_an_accessor_forgets_and_names_collection_and_element) {
  plait::test::run_on_ranks({.ranks = 2}, {.worker_count = 1}, [](plait::test::LocalRank& rank) {
    const auto make = [](ElementId id, Index) {
      return Forgetful{.name = "x", .forgotten = id == ElementId{7} ? 1 : 0};
    };
    const Collection<Forgetful> bad{rank, Shape{10}, make, {.name = "cells"}, MovesBy<NameOnly>{}};
    const std::string sentence = error_of([&] { check_serialisation(bad); });
    EXPECT_EQ(sentence.find("element 7 of 'cells'") != std::string::npos, rank.self().value() == 1) << sentence;
    EXPECT_EQ(sentence.find("accessor") != std::string::npos, rank.self().value() == 1) << sentence;
  });
}

}  // namespace
}  // namespace plait::data::check_serialisation_test
