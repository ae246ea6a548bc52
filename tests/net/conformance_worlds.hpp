// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>

#include "plait/net/driver.hpp"

#include "net/conformance.hpp"

/// How the conformance cases are played when all ranks live in one process.
namespace plait::net::conformance {

/// A network in this process.
class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;
  virtual std::unique_ptr<Driver> driver(Rank rank) = 0;
  /// Called when each rank has had its turn.
  virtual void let_time_pass() {}
};

enum class Threads : std::uint8_t { one, one_a_rank };

struct Setting {
  std::string name;
  std::function<std::unique_ptr<World>(std::uint32_t ranks)> make;
  Terms terms;
  Threads threads = Threads::one;
};

/// For gtest's messages: the parameters hold functions, which it would print byte by byte.
inline void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

/// What a test of such a world is of: the setting, the number of ranks, and the case.
using Parameter = std::tuple<Setting, std::uint32_t, Case>;

/// Plays one case on a new network of `rank_count` ranks.
void play(const Setting& setting, std::uint32_t rank_count, const Case& played);

}  // namespace plait::net::conformance
