// SPDX-License-Identifier: Apache-2.0
#include "plait/data/serialize.hpp"

#include <array>
#include <cereal/types/base_class.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/variant.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/base/random.hpp"

namespace plait::data::serialize_test {
namespace {

enum class Colour : std::uint8_t { red, green };

struct Particle {
  double x = 0;
  float charge = 0;
  friend bool operator==(const Particle&, const Particle&) = default;
};

/// Has all that a class can have, in one.
struct Cell {
  Colour colour = Colour::red;
  bool is_edge = false;
  std::vector<Particle> particles;
  std::vector<bool> flags;
  std::string name;
  std::vector<std::vector<std::string>> lines;
  std::map<std::string, std::set<int>> groups;
  std::optional<std::pair<int, std::string>> note;
  std::variant<int, std::string> choice;
  std::tuple<int, std::string> both;
  std::array<std::vector<int>, 2> sides;
  double plain[3] = {0, 0, 0};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(colour, is_edge, particles, flags, cereal::make_nvp("name", name));
    archive & lines & groups;
    archive(note, choice, both, sides, plain);
  }
  friend bool operator==(const Cell&, const Cell&) = default;
};

struct Placed {
  double x = 0;
  template <class Archive>
  void save(Archive& archive) const {
    archive(x);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(x);
  }
};

struct Named : Placed {
  std::string name;
  std::unique_ptr<Cell> inner;

  template <class Archive>
  void save(Archive& archive) const {
    archive(cereal::base_class<Placed>(this), name, inner);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(cereal::base_class<Placed>(this), name, inner);
  }
};

/// Trivially copyable, but it defines itself what travels.
struct Half {
  int sent = 0;
  int kept = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sent);
  }
};

Cell some_cell() {
  return {.colour = Colour::green,
          .is_edge = true,
          .particles = {{.x = 1, .charge = 2}, {.x = 3, .charge = 4}},
          .flags = {true, false, true},
          .name = "corner",
          .lines = {{"a", ""}, {}, {"b"}},
          .groups = {{"odd", {1, 3}}, {"none", {}}},
          .note = std::pair{7, std::string{"seven"}},
          .choice = "text",
          .both = {3, "three"},
          .sides = {std::vector{1}, std::vector<int>{}},
          .plain = {0.5, 0.25, 0.125}};
}

template <class T>
ErrorCode trouble_of(std::span<const std::byte> bytes) {
  T value{};
  try {
    unpack(bytes, value);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::timeout;
}

TEST(Serialize, brings_back_what_was_packed) {
  const Cell cell = some_cell();
  EXPECT_EQ(unpack_as<Cell>(pack(cell)), cell);
  Cell other = cell;
  unpack(pack(Cell{}), other);
  EXPECT_EQ(other, Cell{});

  Named named;
  named.x = 5;
  named.name = "n";
  named.inner = std::make_unique<Cell>(cell);
  const Named back = unpack_as<Named>(pack(named));
  EXPECT_EQ(back.x, 5);
  EXPECT_EQ(back.name, "n");
  ASSERT_TRUE(back.inner);
  EXPECT_EQ(*back.inner, cell);
}

TEST(Serialize, copies_what_is_trivially_copyable_as_memory) {
  const std::vector<Particle> particles(100, Particle{.x = 1.5, .charge = -1});
  EXPECT_EQ(pack(Particle{}).size(), sizeof(Particle));
  const Bytes packed = pack(particles);
  EXPECT_EQ(packed.size(), sizeof(std::uint64_t) + 100 * sizeof(Particle));
  EXPECT_EQ(std::memcmp(packed.data() + sizeof(std::uint64_t), particles.data(), 100 * sizeof(Particle)), 0);
  EXPECT_EQ(unpack_as<std::vector<Particle>>(packed), particles);
  EXPECT_EQ(pack(Half{.sent = 1, .kept = 2}).size(), sizeof(int));
}

TEST(Serialize, knows_what_can_travel) {
  struct Unknown {
    std::string name;
  };
  struct Pointed {
    std::string* name = nullptr;
    std::vector<int> more;
  };
  static_assert(Serializable<int> && Serializable<Colour> && Serializable<Cell> && Serializable<Named>);
  static_assert(Serializable<std::vector<std::map<int, Cell>>> && Serializable<std::unique_ptr<Cell>>);
  static_assert(Serializable<Bytes> && Serializable<std::vector<std::uint8_t>>);
  static_assert(!Serializable<Unknown> && !Serializable<Pointed> && !Serializable<std::vector<Unknown>>);
  static_assert(!Serializable<std::map<int, std::vector<Unknown>>> && !Serializable<std::optional<Unknown>>);
  static_assert(!Serializable<int*> && !Serializable<std::span<int>> && !Serializable<std::string_view>);
  static_assert(!Serializable<std::vector<const char*>> && !Serializable<std::array<int*, 2>>);
}

TEST(Serialize, refuses_bytes_that_are_too_few_or_too_many) {
  const Bytes packed = pack(some_cell());
  for (std::size_t count = 0; count < packed.size(); ++count) {
    ASSERT_EQ(trouble_of<Cell>(std::span{packed}.first(count)), ErrorCode::bad_input) << count;
  }
  Bytes longer = packed;
  longer.push_back(std::byte{0});
  EXPECT_EQ(trouble_of<Cell>(longer), ErrorCode::bad_input);
  EXPECT_EQ(trouble_of<int>(std::span{packed}.first(3)), ErrorCode::bad_input);
  EXPECT_EQ(trouble_of<std::vector<int>>(pack(std::uint64_t{1} << 62)), ErrorCode::bad_input);
  EXPECT_EQ(trouble_of<std::vector<std::string>>(pack(std::numeric_limits<std::uint64_t>::max())),
            ErrorCode::bad_input);
  EXPECT_EQ(trouble_of<bool>(pack(std::uint8_t{2})), ErrorCode::bad_input);
}

TEST(Serialize, says_what_was_wrong_with_which_type) {
  Particle particle;
  try {
    unpack(std::span<const std::byte>{}, particle);
    FAIL() << "nothing is no particle";
  } catch (const Error& error) {
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find("Particle"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("16 bytes are needed, but only 0 are left"), std::string::npos) << sentence;
  }
}

TEST(Serialize, survives_any_bytes) {
  Random random{20};
  std::uint64_t refused = 0;
  std::uint64_t taken = 0;
  const Bytes good = pack(some_cell());
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes;
    if (round % 2 == 0) {  // some bytes of good ones changed
      bytes = good;
      for (std::uint64_t change = random.below(4) + 1; change > 0; --change) {
        bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
      }
    } else {  // any bytes, many of them small, so that lengths fit
      bytes.resize(random.below(200));
      for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(random.below(3) == 0 ? random.below(256) : random.below(2));
      }
    }
    Cell cell;
    try {
      unpack(bytes, cell);
      ++taken;
      EXPECT_EQ(pack(cell).size(), bytes.size());
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::bad_input);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(taken, 1000U);
}

}  // namespace
}  // namespace plait::data::serialize_test
