// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/strategy.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/temporary_folder.hpp"

namespace plait::strategy_test {
namespace {

MeasuredSystem system_here() {
  return {.processor = "Some \"processor\"", .cores = 4, .mpi = "Open MPI 4.1.4", .plait = "0.2.0"};
}

constexpr const char* system_text =
    R"("system": {"processor": "Some \"processor\"", "cores": 4, "mpi": "Open MPI 4.1.4", "plait": "0.2.0"})";

std::string content(const std::string& choices, const std::string& system = system_text) {
  return R"({"format": "plait-strategy", "version": 1, "measured": "2026-11-26T09:00:00+00:00", )" + system +
         R"(, "choices": {)" + choices + R"(}, "rows": []})";
}

const std::string all_choices =
    R"("shm_packet_bytes": 16384, "mpi_packet_bytes": 4032, "between_hosts_packet_bytes": 32768,)"
    R"("packing": "immediate", "progress": "timer", "progress_microseconds": 200, "copiers": 4)";

/// A variable of the environment for the length of a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_{name} {
    const char* const text = std::getenv(name);
    before_ = text == nullptr ? "" : text;
    ::setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

class Strategies : public testing::Test {
 protected:
  Result<Strategy> read(const std::string& text) {
    std::ofstream{file()} << text;
    return read_strategy(file(), system_here());
  }
  /// The sentence of the error with which `text` is refused.
  std::string refusal(const std::string& text) {
    const Result<Strategy> strategy = read(text);
    return strategy ? "" : strategy.error().what();
  }
  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "strategy.json"; }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(Strategies, are_read_with_all_choices) {
  const Strategy strategy = read(content(all_choices)).value();
  EXPECT_EQ(strategy.packet_bytes.shm, 16384U);
  EXPECT_EQ(strategy.packet_bytes.mpi, 4032U);
  EXPECT_EQ(strategy.packet_bytes.between_hosts, 32768U);
  EXPECT_EQ(strategy.packing, "immediate");
  EXPECT_EQ(strategy.progress, comm::ProgressionMode::timer);
  EXPECT_EQ(strategy.progress_period, std::chrono::microseconds{200});
  EXPECT_EQ(strategy.copiers, 4U);
}

TEST_F(Strategies, without_choices_change_nothing) {
  Options options;
  apply(read(content("")).value(), options);
  EXPECT_EQ(options.described(), Options{}.described());
}

TEST_F(Strategies, of_another_system_are_refused_with_both_names) {
  const std::string sentence = refusal(content(
      all_choices, R"("system": {"processor": "Other", "cores": 4, "mpi": "Open MPI 4.1.4", "plait": "0.2.0"})"));
  EXPECT_NE(sentence.find("Other"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("Some \"processor\""), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("plait doctor --measure"), std::string::npos) << sentence;
}

TEST_F(Strategies, that_are_truncated_anywhere_are_refused) {
  const std::string whole = content(all_choices);
  for (std::size_t size = 0; size < whole.size(); size += 2) {
    EXPECT_NE(refusal(whole.substr(0, size)).find(file().string()), std::string::npos) << size;
  }
}

TEST_F(Strategies, with_a_wrong_byte_anywhere_never_throw) {
  const std::string whole = content(all_choices);
  for (std::size_t place = 0; place < whole.size(); place += 5) {
    for (const char wrong : {'\0', '"', '9', '}', '\xff'}) {
      std::string text = whole;
      text[place] = wrong;
      EXPECT_NO_THROW(static_cast<void>(static_cast<bool>(read(text)))) << place;
    }
  }
}

class BadChoice : public Strategies, public testing::WithParamInterface<const char*> {};

TEST_P(BadChoice, is_refused) {
  EXPECT_NE(refusal(content(GetParam())), "") << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Each,
                         BadChoice,
                         testing::Values(R"("shm_packet_bytes": 0)",
                                         R"("shm_packet_bytes": -4096)",
                                         R"("shm_packet_bytes": 4096.5)",
                                         R"("mpi_packet_bytes": 1000000000000)",
                                         R"("mpi_packet_bytes": "4096")",
                                         R"("packing": "agregate")",
                                         R"("packing": 1)",
                                         R"("progress": "often")",
                                         R"("progress_microseconds": 1)",
                                         R"("progress_microseconds": null)",
                                         R"("copiers": 0)",
                                         R"("copiers": 100000)",
                                         R"("copiers": "2")",
                                         R"("eager": 1)"));

TEST_F(Strategies, that_are_missing_or_no_file_are_errors) {
  EXPECT_EQ(read_strategy("/no/such/file", system_here()).error().code(), ErrorCode::io);
  EXPECT_FALSE(read_strategy("/", system_here()));
  EXPECT_NE(refusal("[]"), "");
  EXPECT_NE(refusal(std::string(3U << 20U, ' ')), "");
  EXPECT_NE(refusal(R"({"format": "plait-trace", "version": 1})").find("no plait-strategy"), std::string::npos);
}

Strategy some_strategy() {
  return {.packet_bytes = {16384, 4032, 32768},
          .packing = "immediate",
          .progress = comm::ProgressionMode::timer,
          .progress_period = std::chrono::microseconds{5000},
          .copiers = 4};
}

TEST(Apply, replaces_what_is_automatic) {
  Options options;
  apply(some_strategy(), options);
  EXPECT_EQ(options.network.packet_bytes.shm, 16384U);
  EXPECT_EQ(options.network.packet_bytes.mpi, 4032U);
  EXPECT_EQ(options.network.packet_bytes.between_hosts, 32768U);
  EXPECT_EQ(options.messages.packing, "immediate");
  EXPECT_EQ(options.messages.copiers_max, 0U) << "threads that outnumber the cores copy alone, whatever was measured";
  EXPECT_EQ(options.messages.copiers_automatic, 4U);
  EXPECT_EQ(options.described().at("copiers"), "automatic (4)");
  EXPECT_EQ(options.progression.mode, comm::ProgressionMode::timer);
  EXPECT_EQ(options.progression.period_min, std::chrono::microseconds{5000});
  EXPECT_GE(options.progression.period_max, options.progression.period_min);
  EXPECT_GE(options.progression.period_bulk, options.progression.period_min);
}

TEST(Apply, leaves_what_was_set_also_to_a_default) {
  Options options;
  options.network.packet_bytes = {8192, 8192, 8192};
  options.messages.packing = "aggregate";
  options.messages.copiers_max = 2;
  options.progression.mode = comm::ProgressionMode::timer;
  const auto before = options.described();
  apply(some_strategy(), options);
  EXPECT_EQ(options.described(), before);
}

TEST(Apply, leaves_the_packets_that_a_program_has_set_for_shared_memory) {
  Options options;
  options.network.shm.packet_bytes_max = 2048;
  apply(some_strategy(), options);
  EXPECT_EQ(options.network.packet_bytes.shm, 0U);
}

TEST(StrategyFile, is_in_the_users_cache_folder_and_named_by_the_system) {
  const Variable cache{"XDG_CACHE_HOME", "/cache"};
  EXPECT_EQ(strategy_file(system_here()), "/cache/plait/strategy/Some--processor--4-cores-Open-MPI-4.1.4.json");
}

TEST(StrategyFile, is_in_the_home_folder_where_the_cache_has_no_absolute_path) {
  const Variable cache{"XDG_CACHE_HOME", "relative"};
  const Variable home{"HOME", "/of/one"};
  EXPECT_EQ(strategy_file(system_here()).parent_path(), "/of/one/.cache/plait/strategy");
}

TEST(StrategyFile, has_no_name_without_a_home_folder) {
  const Variable cache{"XDG_CACHE_HOME", ""};
  const Variable home{"HOME", ""};
  EXPECT_EQ(strategy_file(system_here()), "");
}

TEST(ThisSystem, has_cores_and_a_version) {
  EXPECT_GT(this_system().cores, 0U);
  EXPECT_FALSE(this_system().plait.empty());
  EXPECT_EQ(this_system(), this_system());
}

}  // namespace
}  // namespace plait::strategy_test
