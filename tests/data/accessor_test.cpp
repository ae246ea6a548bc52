// SPDX-License-Identifier: Apache-2.0
#include "plait/data/accessor.hpp"

#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::data::accessor_test {
namespace {

struct Patch {
  std::vector<double> fields;
  std::vector<double> particles;
};

struct FieldsOnly {
  static std::size_t size(const Patch& patch) { return patch.fields.size() * sizeof(double); }
  static void pack(const Patch& patch, Packer& packer) { packer.bytes(std::as_bytes(std::span{patch.fields})); }
  static void unpack(Patch& patch, Unpacker& unpacker) {
    unpacker.bytes(std::as_writable_bytes(std::span{patch.fields}));
  }
};

/// Returns 8 bytes as the size, whatever it writes.
template <int written>
struct Liar {
  static std::size_t size(const Patch& /*patch*/) { return 8; }
  static void pack(const Patch& /*patch*/, Packer& packer) {
    for (int i = 0; i < written; ++i) {
      packer(static_cast<char>(i));
    }
  }
  static void unpack(Patch& /*patch*/, Unpacker& /*unpacker*/) {}
};

TEST(Accessor, moves_the_part_that_it_names) {
  const Patch from{.fields = {1, 2, 3}, .particles = {4}};
  Patch to{.fields = {0, 0, 0}, .particles = {5, 6}};
  const Bytes packed = pack_with<FieldsOnly>(from);
  EXPECT_EQ(packed.size(), 3 * sizeof(double));
  unpack_with<FieldsOnly>(packed, to);
  EXPECT_EQ(to.fields, from.fields);
  EXPECT_EQ(to.particles, (std::vector<double>{5, 6}));
}

TEST(Accessor, refuses_a_pack_that_writes_other_than_its_size_said) {
  static_assert(Accessor<FieldsOnly, Patch> && !Accessor<FieldsOnly, int> && !Accessor<Patch, Patch>);
  const Patch patch;
  EXPECT_EQ(pack_with<Liar<8>>(patch).size(), 8U);
  const auto sentence_of = [&](auto pack) -> std::string {
    try {
      static_cast<void>(pack());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_argument);
      return error.what();
    }
    return "";
  };
  for (const std::string& sentence : {sentence_of([&] { return pack_with<Liar<12>>(patch); }),
                                      sentence_of([&] { return pack_with<Liar<3>>(patch); })}) {
    EXPECT_NE(sentence.find("size returned 8 bytes"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("Patch"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("Liar"), std::string::npos) << sentence;
  }
  EXPECT_NE(sentence_of([&] { return pack_with<Liar<12>>(patch); }).find("wrote 12"), std::string::npos);
}

TEST(Accessor, refuses_bytes_that_do_not_fit_the_receiver) {
  Patch to{.fields = {0, 0}, .particles = {}};
  EXPECT_THROW(unpack_with<FieldsOnly>(pack_with<FieldsOnly>(Patch{.fields = {1}, .particles = {}}), to), Error);
  EXPECT_THROW(unpack_with<FieldsOnly>(pack_with<FieldsOnly>(Patch{.fields = {1, 2, 3}, .particles = {}}), to), Error);
}

}  // namespace
}  // namespace plait::data::accessor_test
