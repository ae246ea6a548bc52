// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/prediction_run.hpp"

#include <gtest/gtest.h>

#include "plait/replay/from_trace.hpp"
#include "plait/replay/predict/agreement.hpp"
#include "plait/trace/reader.hpp"

#include "replay/predict/exchanges.hpp"

namespace plait::replay::prediction_run_test {
namespace {

using testing::Exchange;
using testing::simple_platform;

class PredictionRunTest : public ::testing::Test {
 protected:
  PredictionRunTest() {
    std::filesystem::remove_all(folder_);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      for (int step = 0; step < 2; ++step) {
        const std::uint32_t got = exchange_.receive(rank, (rank + 2) % 3, 500, 9);
        const std::uint32_t sent = exchange_.send(rank, (rank + 1) % 3, 500, 9);
        exchange_.compute(rank, 10'000);
        exchange_.wait(rank, {got, sent});
      }
    }
    prediction_ = predict(exchange_.schedule, simple_platform(), {.keeps_times = true}).value();
    write_prediction({.folder = folder_, .platform = "simple"}, exchange_.schedule, prediction_);
  }
  ~PredictionRunTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ = std::filesystem::path{::testing::TempDir()} / "plait-prediction-run";
  Exchange exchange_{3};
  Prediction prediction_;
};

TEST_F(PredictionRunTest, is_read_as_a_recorded_run_with_every_message_twice) {
  const trace::RunTrace run = trace::read_run(folder_).value();
  EXPECT_EQ(run.meta.recorder, "prediction");
  ASSERT_EQ(run.ranks.size(), 3U);
  for (const trace::RankTrace& rank : run.ranks) {
    EXPECT_TRUE(rank.notices.empty());
    ASSERT_EQ(rank.messages.size(), 4U);
    for (const auto& message : rank.messages) {
      EXPECT_LE(message.event.posted, message.event.handed);
      EXPECT_LE(message.event.handed, message.event.arrived);
      EXPECT_LE(message.event.arrived, message.event.completed);
      EXPECT_LE(message.event.completed, prediction_.total);
    }
  }
}

TEST_F(PredictionRunTest, gives_back_the_exchange_that_was_predicted) {
  const Schedule again = schedule_from_folder(folder_).value();
  const Agreement agreement = compare(logged_latencies(again), predicted_latencies(exchange_.schedule, prediction_));
  EXPECT_EQ(agreement.messages, 6U);
  EXPECT_NEAR(agreement.error.most, 0, 1e-3);
  EXPECT_EQ(agreement.logged.half, agreement.predicted.half);
}

TEST(Agreements, measure_each_message_against_its_own) {
  using std::chrono::nanoseconds;
  const std::vector<MessageLatency> logged{{0, 1, nanoseconds{100}}, {0, 1, nanoseconds{200}}, {1, 0, nanoseconds{50}}};
  const std::vector<MessageLatency> predicted{
      {1, 0, nanoseconds{50}}, {0, 1, nanoseconds{110}}, {0, 1, nanoseconds{300}}};
  const Agreement agreement = compare(logged, predicted);
  EXPECT_EQ(agreement.messages, 3U);
  EXPECT_NEAR(agreement.error.half, 0.1, 1e-9);
  EXPECT_NEAR(agreement.error.most, 0.5, 1e-9);
}

}  // namespace
}  // namespace plait::replay::prediction_run_test
