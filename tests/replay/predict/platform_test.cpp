// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/platform.hpp"

#include <gtest/gtest.h>

namespace plait::replay::platform_test {
namespace {

const std::string costs = R"({"latency_ns": 1000, "send_overhead_ns": 300, "receive_overhead_ns": 200,
                              "gap_per_byte_ns": 0.1, "eager_bytes_max": 4096})";

std::string file_with(const std::string& more) {
  return R"({"format": "plait-platform", "version": 1, "between_hosts": )" + costs + more + "}";
}

std::string trouble(const std::string& text) {
  const Result<Platform> platform = parse_platform(text, "here.json");
  return platform ? "" : platform.error().what();
}

TEST(PlatformFile, is_read_with_what_is_usual_for_what_is_missing) {
  const Platform platform = parse_platform(file_with(""), "here.json").value();
  EXPECT_EQ(platform.between_hosts.latency_ns, 1000);
  EXPECT_EQ(platform.within_host.eager_bytes_max, 4096);
  EXPECT_EQ(platform.ranks_per_host, 1U);
  EXPECT_EQ(platform.progress, ProgressModel::calls);
  EXPECT_EQ(platform.topology.shape, TopologyShape::flat);
}

TEST(PlatformFile, is_read_with_its_topology) {
  const Platform platform = parse_platform(file_with(R"(, "hosts": 12, "topology": {"shape": "dragonfly", "groups": 3,
      "routers": 2, "hosts": 2, "link_bytes_per_s": 1e9})"),
                                           "here.json")
                                .value();
  EXPECT_EQ(platform.hosts, 12U);
  EXPECT_EQ(host_count(platform.topology), 12U);
  EXPECT_EQ(platform.topology.global_bytes_per_s, 1e9);
}

TEST(PlatformFile, is_read_with_its_spread) {
  EXPECT_FALSE(parse_platform(file_with(""), "here.json").value().spread);
  const Platform platform =
      parse_platform(file_with(R"(, "spread": {"latency": 0.1, "overhead": 0.2, "bytes": 0.03})"), "here.json").value();
  EXPECT_EQ(platform.spread.value().bytes, 0.03);
  EXPECT_NE(trouble(file_with(R"(, "spread": {"latency": 0.1})")).find("the key \"overhead\" is missing"),
            std::string::npos);
}

TEST(PlatformFile, names_the_key_that_is_wrong) {
  EXPECT_NE(trouble(file_with(R"(, "host": 3)")).find("here.json: unknown key \"host\""), std::string::npos);
  EXPECT_NE(trouble(file_with(R"(, "ranks_per_host": -1)")).find("\"ranks_per_host\" must be"), std::string::npos);
  EXPECT_NE(trouble(file_with(R"(, "within_host": {"latency_ns": -1})")).find("within_host: \"latency_ns\" must be"),
            std::string::npos);
  const std::string with_moving = costs.substr(0, costs.size() - 1) + R"(, "moving_ns": )";
  const auto moving = [&](const std::string& pairs) {
    return trouble(file_with(R"(, "within_host": )" + with_moving + pairs + "}"));
  };
  EXPECT_EQ(moving("[[16, 2], [64, 2]]"), "");
  EXPECT_NE(moving("[[16, 2], [16, 3]]").find("must rise"), std::string::npos);
  EXPECT_NE(moving("[[16, 2], [64, 1]]").find("must rise"), std::string::npos);
  EXPECT_NE(moving("[[1, 2]]").find("must be 2 or more"), std::string::npos);
  EXPECT_NE(moving("[[1, 2, 3]]").find("list of pairs"), std::string::npos);
  EXPECT_NE(moving(R"([[2, 3]], "stolen_sending_ns": [[8, -1]])").find("\"stolen_sending_ns\" must be a number"),
            std::string::npos);
  EXPECT_NE(trouble(file_with(R"(, "progress": "background")")).find("progress_every_ns"), std::string::npos);
  EXPECT_NE(trouble(file_with(R"(, "progress": "always")")).find("known are ideal, calls, background"),
            std::string::npos);
  EXPECT_NE(trouble(file_with(R"(, "topology": {"shape": "torus", "link_bytes_per_s": 1e9, "sizes": []})"))
                .find("topology: \"sizes\" must be a list"),
            std::string::npos);
  EXPECT_NE(
      trouble(file_with(R"(, "hosts": 100, "topology": {"shape": "torus", "link_bytes_per_s": 1e9, "sizes": [2]})"))
          .find("the topology has 2"),
      std::string::npos);
  EXPECT_NE(trouble("{}").find("not a platform file"), std::string::npos);
  EXPECT_NE(trouble("{").find("not JSON"), std::string::npos);
}

TEST(PlatformFile, that_is_not_there_is_named) {
  const Result<Platform> platform = read_platform("no-such-platform.json");
  ASSERT_FALSE(platform);
  EXPECT_NE(std::string{platform.error().what()}.find("no-such-platform.json"), std::string::npos);
}

TEST(PlatformHosts, must_suffice_for_the_ranks) {
  Platform platform = parse_platform(file_with(R"(, "hosts": 2, "ranks_per_host": 4)"), "here.json").value();
  EXPECT_EQ(hosts_of(platform, 8).value(), 2U);
  const Result<std::uint32_t> none = hosts_of(platform, 9);
  ASSERT_FALSE(none);
  EXPECT_NE(std::string{none.error().what()}.find("need 3 hosts"), std::string::npos);
  platform.hosts = 0;
  EXPECT_EQ(hosts_of(platform, 9).value(), 3U);
}

TEST(ShippedPlatforms, are_all_valid) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator{PLAIT_PLATFORMS_FOLDER}) {
    const Result<Platform> platform = read_platform(entry.path());
    EXPECT_TRUE(platform) << (platform ? "" : platform.error().what());
    ++count;
  }
  EXPECT_GE(count, 4U);
}

}  // namespace
}  // namespace plait::replay::platform_test
