// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/packed_elements.hpp"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::data::packed_elements_test {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

PackedElements pack_of(std::uint64_t first, const std::vector<std::string>& texts) {
  PackedElements pack;
  for (const std::string& text : texts) {
    pack.add(ElementId{first++}, std::as_bytes(std::span{text}));
  }
  return pack;
}

TEST(PackedElements, gives_back_what_was_added_and_appended) {
  PackedElements pack = pack_of(0, {"one", "", "three"});
  pack.append(pack_of(7, {"", "four"}));
  pack.append({});
  const std::vector<std::string> expected{"one", "", "three", "", "four"};
  const std::vector<std::uint64_t> ids{0, 1, 2, 7, 8};
  ASSERT_EQ(pack.count(), expected.size());
  for (std::size_t place = 0; place < expected.size(); ++place) {
    EXPECT_EQ(pack.ids[place], ElementId{ids[place]});
    EXPECT_EQ(text_of(pack.element(place)), expected[place]);
  }
}

TEST(Extents, are_those_of_the_shape_they_make) {
  for (const std::vector<std::uint64_t>& extents :
       {std::vector<std::uint64_t>{}, {5}, {4, 3}, {2, 3, 4}, {4'000'000'000U, 2'000'000'000U}}) {
    EXPECT_EQ(extents_of(shape_of(extents)), extents);
  }
}

TEST(Extents, that_no_shape_can_have_are_refused) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  for (const std::vector<std::uint64_t>& extents :
       {std::vector<std::uint64_t>{1, 1, 1, 1}, {0}, {3, 0}, {most + 1}, {most, most, most}}) {
    EXPECT_THROW((void)shape_of(extents), Error);
  }
}

}  // namespace
}  // namespace plait::data::packed_elements_test
