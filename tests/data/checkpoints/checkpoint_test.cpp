// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/checkpoint.hpp"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::data::checkpoint_test {
namespace {

Checkpoint some_checkpoint() {
  PackedElements patches;
  patches.collection = "patches";
  patches.type = "Patch";
  patches.shape = Shape{4, 3};
  return {
      .program = "walk", .step = 12, .values = {{"time", 0.5}, {"seed", std::uint64_t{7}}}, .collections = {patches}};
}

TEST(Checkpoint, hands_out_what_it_holds) {
  const Checkpoint checkpoint = some_checkpoint();
  EXPECT_EQ(&checkpoint.elements("patches", "Patch", Shape{4, 3}), &checkpoint.collections.front());
  EXPECT_EQ(checkpoint.value<double>("time"), 0.5);
  EXPECT_EQ(checkpoint.value<std::uint64_t>("seed"), 7U);
}

TEST(Checkpoint, refuses_what_it_does_not_hold_with_a_sentence_that_names_both) {
  const Checkpoint checkpoint = some_checkpoint();
  const std::vector<std::pair<std::function<void()>, std::vector<std::string>>> cases{
      {[&] { (void)checkpoint.elements("cells", "Patch", Shape{4, 3}); }, {"'cells'", "patches", "step 12"}},
      {[&] { (void)checkpoint.elements("patches", "Cell", Shape{4, 3}); }, {"'Patch'", "'Cell'"}},
      {[&] { (void)checkpoint.elements("patches", "Patch", Shape{4, 4}); }, {"4 x 3", "4 x 4"}},
      {[&] { (void)checkpoint.elements("patches", "Patch", Shape{}); }, {"4 x 3", "irregular"}},
      {[&] { (void)checkpoint.value<double>("speed"); }, {"'speed'"}},
      {[&] { (void)checkpoint.value<std::string>("time"); }, {"'time'"}},
  };
  for (const auto& [ask, words] : cases) {
    try {
      ask();
      ADD_FAILURE() << "nothing was thrown for " << words.front();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
      for (const std::string& word : words) {
        EXPECT_NE(std::string{error.what()}.find(word), std::string::npos) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace plait::data::checkpoint_test
