// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/platform.hpp"

#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace plait::replay {
namespace {

using nlohmann::json;

constexpr std::string_view format_name = "plait-platform";
constexpr std::uint32_t format_version = 1;

constexpr std::array progress_names{"ideal", "calls", "background"};
constexpr std::array shape_names{"flat", "fat_tree", "dragonfly", "torus"};

/// One object of the file. `finish` reports the keys that were not read.
class Section {
 public:
  Section(const json& object, std::string where) : object_{object}, where_{std::move(where)} {
    if (!object_.is_object()) {
      fail("must be an object { ... }");
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error{ErrorCode::bad_input, fmt::format("{}: {}", where_, what)};
  }

  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }

  [[nodiscard]] Section section(const char* key) { return {required(key), fmt::format("{}: {}", where_, key)}; }

  [[nodiscard]] std::string text(const char* key, const std::string& missing) {
    known_.insert(key);
    if (!has(key)) {
      return missing;
    }
    if (!object_.at(key).is_string()) {
      fail(fmt::format("\"{}\" must be a text", key));
    }
    return object_.at(key).get<std::string>();
  }

  /// Not below 0.
  [[nodiscard]] double number(const char* key) { return checked(key, required(key)); }
  [[nodiscard]] double number(const char* key, double missing) { return has(key) ? number(key) : missing; }

  [[nodiscard]] double positive(const char* key) {
    const double value = number(key);
    if (value <= 0) {
      fail(fmt::format("\"{}\" must be above 0", key));
    }
    return value;
  }

  /// A whole number from `low` on that fits 32 bits.
  [[nodiscard]] std::uint32_t count(const char* key, std::uint32_t low) { return as_count(key, required(key), low); }
  [[nodiscard]] std::uint32_t count_or(const char* key, std::uint32_t missing, std::uint32_t low) {
    return has(key) ? count(key, low) : missing;
  }

  [[nodiscard]] std::uint64_t bytes(const char* key) {
    const json& value = required(key);
    if (!value.is_number_unsigned()) {
      fail(fmt::format("\"{}\" must be a whole number of bytes, 0 or more", key));
    }
    return value.get<std::uint64_t>();
  }

  [[nodiscard]] std::vector<std::uint32_t> counts(const char* key) {
    const json& value = required(key);
    std::vector<std::uint32_t> found;
    if (!value.is_array() || value.empty()) {
      fail(fmt::format("\"{}\" must be a list of whole numbers, as in [4, 4, 4]", key));
    }
    for (const json& one : value) {
      found.push_back(as_count(key, one, 1));
    }
    return found;
  }

  enum class Times : std::uint8_t { rise, may_fall };

  /// Pairs of bytes and nanoseconds, of which the first numbers rise. Empty if the key is missing.
  [[nodiscard]] std::vector<ByteTime> curve(const char* key, Times times) {
    std::vector<ByteTime> found;
    for (const json& pair : has(key) ? required(key) : json::array()) {
      if (!pair.is_array() || pair.size() != 2) {
        fail(fmt::format("\"{}\" must be a list of pairs, as in [[1024, 250], [8192, 1900]]", key));
      }
      const ByteTime one{static_cast<std::uint64_t>(checked(key, pair.at(0))), checked(key, pair.at(1))};
      const bool falls = !found.empty() && one.time_ns < found.back().time_ns;
      if (!found.empty() && (one.bytes <= found.back().bytes || (falls && times == Times::rise))) {
        fail(fmt::format("the pairs of \"{}\" must rise", key));
      }
      found.push_back(one);
    }
    return found;
  }

  template <class Enumeration, std::size_t Count>
  [[nodiscard]] Enumeration choice(const char* key, const std::array<const char*, Count>& names, Enumeration missing) {
    const std::string given = text(key, names.at(static_cast<std::size_t>(missing)));
    for (std::size_t i = 0; i < Count; ++i) {
      if (given == names.at(i)) {
        return static_cast<Enumeration>(i);
      }
    }
    fail(fmt::format("\"{}\" is \"{}\"; known are {}", key, given, fmt::join(names, ", ")));
  }

  /// Throws for unknown keys.
  void finish() const {
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key)) {
        fail(fmt::format("unknown key \"{}\"; known here are {}", key, fmt::join(known_, ", ")));
      }
    }
  }

 private:
  const json& required(const char* key) {
    known_.insert(key);
    if (!has(key)) {
      fail(fmt::format("the key \"{}\" is missing", key));
    }
    return object_.at(key);
  }

  [[nodiscard]] double checked(const char* key, const json& value) const {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
      fail(fmt::format("\"{}\" must be a number, 0 or more", key));
    }
    return value.get<double>();
  }

  [[nodiscard]] std::uint32_t as_count(const char* key, const json& value, std::uint32_t low) const {
    constexpr std::uint64_t high = std::numeric_limits<std::int32_t>::max();
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < low || value.get<std::uint64_t>() > high) {
      fail(fmt::format("\"{}\" must be a whole number, {} or more", key, low));
    }
    return value.get<std::uint32_t>();
  }

  const json& object_;
  std::string where_;
  std::set<std::string> known_;
};

LinkCosts costs_of(Section section) {
  LinkCosts costs;
  costs.latency_ns = section.number("latency_ns");
  costs.send_overhead_ns = section.number("send_overhead_ns");
  costs.receive_overhead_ns = section.number("receive_overhead_ns");
  costs.post_overhead_ns = section.number("post_overhead_ns", 0);
  costs.overhead_per_byte_ns = section.number("overhead_per_byte_ns", 0);
  costs.gap_ns = section.number("gap_ns", 0);
  costs.gap_per_byte_ns = section.positive("gap_per_byte_ns");
  costs.eager_bytes_max = section.bytes("eager_bytes_max");
  costs.rendezvous_ns = section.number("rendezvous_ns", 0);
  costs.both_ways = section.number("both_ways", 1);
  if (costs.both_ways < 1 || costs.both_ways > 2) {
    section.fail("\"both_ways\" must be from 1 to 2");
  }
  costs.moving = section.curve("moving_ns", Section::Times::rise);
  if (!costs.moving.empty() && costs.moving.front().bytes < 2) {
    section.fail("the sizes in \"moving_ns\" must be 2 or more, as times are for the bytes after the first");
  }
  costs.occupying = section.curve("occupying_ns", Section::Times::rise);
  costs.leaving = section.curve("leaving_ns", Section::Times::may_fall);
  costs.processor.sending = section.curve("sending_ns", Section::Times::may_fall);
  costs.processor.receiving = section.curve("receiving_ns", Section::Times::may_fall);
  costs.processor.stolen_sending = section.curve("stolen_sending_ns", Section::Times::may_fall);
  costs.processor.stolen_receiving = section.curve("stolen_receiving_ns", Section::Times::may_fall);
  section.finish();
  return costs;
}

Spread spread_of(Section section) {
  const Spread spread{
      .latency = section.number("latency"), .overhead = section.number("overhead"), .bytes = section.number("bytes")};
  section.finish();
  return spread;
}

TopologySettings topology_of(Section section) {
  TopologySettings topology;
  topology.shape = section.choice("shape", shape_names, TopologyShape::flat);
  if (topology.shape != TopologyShape::flat) {
    topology.link_bytes_per_s = section.positive("link_bytes_per_s");
    topology.link_latency_ns = section.number("link_latency_ns", 0);
  }
  switch (topology.shape) {
    case TopologyShape::flat:
      break;
    case TopologyShape::fat_tree:
      topology.arity = section.count("arity", 2);
      topology.levels = section.count("levels", 1);
      topology.oversubscription = section.number("oversubscription", 1);
      if (topology.oversubscription < 1) {
        section.fail("\"oversubscription\" must be 1 or more: hosts below a switch for each link above it");
      }
      break;
    case TopologyShape::dragonfly:
      topology.groups = section.count("groups", 1);
      topology.routers = section.count("routers", 1);
      topology.hosts = section.count("hosts", 1);
      topology.global_bytes_per_s = section.number("global_bytes_per_s", topology.link_bytes_per_s);
      topology.global_latency_ns = section.number("global_latency_ns", topology.link_latency_ns);
      if (topology.global_bytes_per_s <= 0) {
        section.fail("\"global_bytes_per_s\" must be above 0");
      }
      break;
    case TopologyShape::torus:
      topology.sizes = section.counts("sizes");
      break;
  }
  section.finish();
  if (host_count(topology) > std::numeric_limits<std::int32_t>::max()) {
    section.fail("the topology has more than 2^31 hosts; choose smaller numbers");
  }
  return topology;
}

Platform platform_of(const json& object, const std::string& where) {
  Section section{object, where};
  Platform platform;
  if (section.text("format", "") != format_name || section.count("version", 1) != format_version) {
    section.fail(fmt::format(
        "not a platform file: it begins with \"format\": \"{}\", \"version\": {}", format_name, format_version));
  }
  platform.name = section.text("name", "");
  static_cast<void>(section.text("note", ""));
  platform.hosts = section.count_or("hosts", 0, 1);
  platform.ranks_per_host = section.count_or("ranks_per_host", 1, 1);
  platform.cores_per_host = section.count_or("cores_per_host", 1, 1);
  platform.core_slice_ns = section.number("core_slice_ns", 0);
  platform.slowdown_at_once = section.number("slowdown_at_once", 1);
  if (platform.slowdown_at_once < 1) {
    section.fail("\"slowdown_at_once\" must be 1 or more");
  }
  platform.copy_bytes_per_s = section.has("copy_bytes_per_s") ? section.positive("copy_bytes_per_s") : 1e10;
  platform.progress = section.choice("progress", progress_names, ProgressModel::calls);
  platform.progress_every_ns = section.number("progress_every_ns", 0);
  platform.search_ns = section.number("search_ns", 0);
  if (platform.progress == ProgressModel::background && platform.progress_every_ns <= 0) {
    section.fail("\"progress\" is \"background\": \"progress_every_ns\" must be above 0");
  }
  platform.between_hosts = costs_of(section.section("between_hosts"));
  platform.has_within_host = section.has("within_host");
  platform.within_host = platform.has_within_host ? costs_of(section.section("within_host")) : platform.between_hosts;
  if (section.has("spread")) {
    platform.spread = spread_of(section.section("spread"));
  }
  if (section.has("topology")) {
    platform.topology = topology_of(section.section("topology"));
  }
  section.finish();
  const std::uint64_t has = host_count(platform.topology);
  if (has != 0 && platform.hosts > has) {
    section.fail(fmt::format("\"hosts\" is {}, and the topology has {}", platform.hosts, has));
  }
  return platform;
}

}  // namespace

Result<Platform> parse_platform(const std::string& text, const std::string& where) {
  try {
    return platform_of(json::parse(text), where);
  } catch (const Error& error) {
    return error;
  } catch (const json::exception& error) {
    return Error{ErrorCode::bad_input, fmt::format("{}: not JSON: {}", where, error.what())};
  }
}

Result<Platform> read_platform(const std::filesystem::path& file) {
  std::ifstream stream{file};
  std::ostringstream text;
  if (std::filesystem::is_directory(file) || !stream || !(text << stream.rdbuf())) {
    return Error{ErrorCode::io, fmt::format("{}: the platform file cannot be read", file.string())};
  }
  return parse_platform(text.str(), file.string());
}

std::uint64_t host_count(const TopologySettings& topology) noexcept {
  constexpr std::uint64_t enough = std::uint64_t{1} << 32U;
  std::uint64_t hosts = topology.shape == TopologyShape::flat ? 0 : 1;
  const auto times = [&hosts](std::uint64_t factor) { hosts = hosts > enough ? hosts : hosts * factor; };
  if (topology.shape == TopologyShape::fat_tree) {
    for (std::uint32_t level = 0; level < topology.levels; ++level) {
      times(topology.arity);
    }
  } else if (topology.shape == TopologyShape::dragonfly) {
    times(topology.groups);
    times(topology.routers);
    times(topology.hosts);
  } else if (topology.shape == TopologyShape::torus) {
    for (const std::uint32_t size : topology.sizes) {
      times(size);
    }
  }
  return hosts;
}

Result<std::uint32_t> hosts_of(const Platform& platform, std::uint32_t ranks) {
  const std::uint32_t wanted = platform.hosts_for(ranks);
  const std::uint64_t topology = host_count(platform.topology);
  const std::uint64_t has = platform.hosts != 0 ? platform.hosts : topology;
  if (has != 0 && wanted > has) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("{} ranks, {} on a host, need {} hosts, and the platform{} has {}: choose a larger platform or "
                    "another placement (--placement RANKS-PER-HOST)",
                    ranks,
                    platform.ranks_per_host,
                    wanted,
                    platform.name.empty() ? "" : " \"" + platform.name + "\"",
                    has)};
  }
  return static_cast<std::uint32_t>(topology != 0 ? topology : wanted);
}

}  // namespace plait::replay
