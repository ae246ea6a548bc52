// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "plait/net/driver.hpp"

namespace plait::net {

/// A driver that reaches all ranks over a network of its own, as one link of several.
struct Rail {
  std::unique_ptr<Driver> driver;
  std::string name;  ///< For errors and output: an interface or an address.
  /// Rate in any unit, relative to those of the other rails: divides bulk data until the rates have been measured.
  double rate = 1;
};

/// The most rails of one driver.
inline constexpr std::size_t rails_max = 8;

/// The same on all ranks.
struct RailsOptions {
  /// Bulk data of less bytes is not divided.
  std::size_t divided_bytes_min = std::size_t{128} * 1024;
};

/// Creates one network of several, the rails, over which bulk data between two ranks is divided.
///
/// Packets use the first rail, so that they keep their order. The receiver of bulk data chooses how it is divided: data
/// of less than `divided_bytes_min` goes over the rail that is expected to complete it first, longer data over all
/// rails in proportion to their rates, which it measures for each peer. No rail gets less than 1/16 of an equal share,
/// so that a rail that has become faster is noticed; combine only rails whose rates are at most that far apart. The
/// second rail carries the division to the sender, in a packet for each transfer. Data of a rank to itself uses the
/// first rail.
///
/// Bulk data in flight is bounded by the sum of the rails' bounds, slots are as many as the fewest, all else is the
/// first rail's. All ranks must have the same rails in the same order. Threads: one at a time.
///
/// Throws: `Error` with `bad_argument` for less than two rails or more than `rails_max`, for rails of different ranks,
/// and for a rate that is not positive; as the driver, what a rail throws, in a sentence that names the rail, and
/// `Error` with `network` when the sender's data is not as long as the receiver's buffer. When a rail fails, the driver
/// has failed. Cost: for each transfer, a packet and a look-up among the transfers under way; 64 bytes of memory for
/// each peer and rail.
[[nodiscard]] std::unique_ptr<Driver> make_rails_driver(std::vector<Rail> rails, const RailsOptions& options = {});

}  // namespace plait::net
