// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/comm/collectives/group.hpp"

namespace plait::fft {

/// How many bytes go to, and come from, each member of a group. The own entries are 0: what stays is not moved.
struct BlockBytes {
  std::vector<std::size_t> to;
  std::vector<std::size_t> from;
};

/// Moves a block to and from each member of a group, many times, always of the same sizes. Owns its buffers, as they
/// may have to be memory of a special kind.
///
/// One round is: write all of `to`; `start`; perhaps `advance`; `wait`; read `from` before the next `start`. All
/// members go through rounds together, and through those of several exchanges in the same order. Threads: one.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  Exchange(Exchange&&) = delete;
  Exchange& operator=(Exchange&&) = delete;
  virtual ~Exchange() = default;

  /// Where the block for `member` is written between rounds. Aligned to 64 bytes; never moves.
  [[nodiscard]] virtual std::span<std::byte> to(std::size_t member) = 0;
  /// Where the block of `member` is read, from `wait` to the next `start`. Aligned to 64 bytes; never moves.
  [[nodiscard]] virtual std::span<const std::byte> from(std::size_t member) = 0;

  /// All of `to` has been written. A blocking exchange does everything here.
  virtual void start() = 0;
  /// Between `start` and `wait`, now and then while the program computes: gives the exchange a chance to go on.
  virtual void advance() {}
  /// Returns when `from` may be read and `to` be written again. Throws: as the network below.
  virtual void wait() = 0;
};

/// Makes an exchange among the members of a group. Collective over the group, and in the same order on all members.
using MakeExchange = std::function<std::unique_ptr<Exchange>(const comm::Group&, const BlockBytes&)>;

/// One way of exchanging, under a name to choose it by.
struct Variant {
  std::string name;     ///< Of the all-to-all harness, as "PLB".
  std::string twin;     ///< The one that differs only in blocking; empty when there is none.
  std::string summary;  ///< In one sentence, for people.
  MakeExchange make;    ///< Nothing: the exchange is not an object but tasks of a graph.
};

/// The ways that need nothing but plait: PLB, PLN and PLT.
[[nodiscard]] std::vector<Variant> variants();

/// The one that is called `name`. Throws: `Error` with `bad_argument` that lists the names, when there is none.
[[nodiscard]] const Variant& find_variant(const std::vector<Variant>& among, std::string_view name);

}  // namespace plait::fft
