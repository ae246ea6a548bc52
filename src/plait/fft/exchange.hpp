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

/// The bytes sent to and received from each member of a group. The entries of this rank are 0.
struct BlockBytes {
  std::vector<std::size_t> to;
  std::vector<std::size_t> from;
};

/// The interface of an exchange of blocks of fixed sizes among the members of a group, in rounds. Owns its buffers.
///
/// One round is: write all of `to`; `start`; optionally `advance`; `wait`; read `from` before the next `start`. All
/// members call the same rounds, those of several exchanges in the same order. Threads: one.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  /// The memory of the block for `member`, to be written between rounds. Aligned to 64 bytes; never moves.
  [[nodiscard]] virtual std::span<std::byte> to(std::size_t member) = 0;
  /// The block of `member`, valid from `wait` to the next `start`. Aligned to 64 bytes; never moves.
  [[nodiscard]] virtual std::span<const std::byte> from(std::size_t member) = 0;

  /// Starts a round. A blocking exchange completes here.
  virtual void start() = 0;
  /// Makes progress; called periodically between `start` and `wait`, while the program computes.
  virtual void advance() {}
  /// Waits until `from` may be read and `to` written. Throws: as the driver.
  virtual void wait() = 0;
};

/// Creates an exchange. Collective over the group, in the same order on all members.
using MakeExchange = std::function<std::unique_ptr<Exchange>(const comm::Group&, const BlockBytes&)>;

/// An implementation of the exchange, with a name by which programs choose it.
struct Variant {
  std::string name;     ///< As in the all-to-all harness, such as "PLB".
  std::string twin;     ///< The variant that differs in blocking only; empty if there is none.
  std::string summary;  ///< One sentence.
  MakeExchange make;    ///< Empty: tasks of a graph exchange.
};

/// The variants without MPI: PLB, PLN and PLT.
[[nodiscard]] std::vector<Variant> variants();

/// Finds a variant by name. Throws: `Error` with `bad_argument`, which lists the names, if there is none.
[[nodiscard]] const Variant& find_variant(const std::vector<Variant>& among, std::string_view name);

}  // namespace plait::fft
