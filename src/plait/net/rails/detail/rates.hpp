// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/net/rails/rails_driver.hpp"

namespace plait::net::detail::rails {

/// Bytes of one transfer on each rail. They follow each other in the buffer, in the order of the rails.
using Division = std::array<std::uint64_t, rails_max>;

/// The rates at which data from one peer arrives over each rail, and how to divide data by them.
///
/// A rate is that of the last 16 to 32 transfers: bytes over the time in which the rail had data to deliver. The first
/// transfer of a rail, which may wait for a connection, is not counted. When this rank polls rarely, the rails' parts
/// of a transfer appear to arrive at one time, which leaves their ratio as it is. Threads: one at a time.
class Rates {
 public:
  /// `rates`: assumed until each rail has been measured.
  explicit Rates(std::span<const double> rates) {
    for (const double rate : rates) {
      rails_.push_back({.assumed = rate});
    }
  }

  /// Divides `bytes` among all rails, so that they complete their parts at one time behind what they have in flight.
  /// Counts them as in flight.
  [[nodiscard]] Division divide(std::size_t bytes) {
    const Division parts = shares_of(bytes);
    count(parts);
    return parts;
  }

  /// Gives all `bytes` to the rail that would complete them first. Counts them as in flight.
  [[nodiscard]] Division give_to_one(std::size_t bytes) {
    const auto time = [&](const Measured& rail) { return static_cast<double>(rail.in_flight + bytes) / rate(rail); };
    Division parts{};
    parts[static_cast<std::size_t>(std::ranges::min_element(rails_, {}, time) - rails_.begin())] = bytes;
    count(parts);
    return parts;
  }

  /// A part of `bytes`, posted at `posted`, has arrived over `rail`.
  void note_arrival(std::size_t rail, std::size_t bytes, nanoseconds posted, nanoseconds now) {
    Measured& measured = rails_[rail];
    measured.in_flight -= bytes;
    if (measured.has_arrived) {
      measured.bytes += static_cast<double>(bytes);
      measured.time += now - std::max(posted, measured.arrived);
      if (++measured.parts == parts_max) {
        measured.bytes /= 2;
        measured.time /= 2;
        measured.parts /= 2;
      }
    }
    measured.has_arrived = true;
    measured.arrived = now;
  }

 private:
  /// Older parts count half each time that so many have arrived: enough to smooth what the system delays by chance.
  static constexpr std::uint32_t parts_max = 32;
  /// Of an equal share, for a rail that seems to be slow.
  static constexpr double share_min = 1.0 / 16;
  /// Parts begin at multiples of it: a cache line.
  static constexpr std::size_t alignment = 64;

  struct Measured {
    double assumed = 1;
    double bytes = 0;
    nanoseconds time{0};
    std::uint32_t parts = 0;
    nanoseconds arrived{0};  ///< When its last part arrived.
    std::uint64_t in_flight = 0;
    bool has_arrived = false;
  };

  [[nodiscard]] double rate(const Measured& rail) const {
    const auto is_measured = [](const Measured& one) { return one.bytes > 0 && one.time > nanoseconds::zero(); };
    return std::ranges::all_of(rails_, is_measured) ? rail.bytes / static_cast<double>(rail.time.count())
                                                    : rail.assumed;
  }

  void count(const Division& parts) {
    for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
      rails_[rail].in_flight += parts[rail];
    }
  }

  [[nodiscard]] Division shares_of(std::size_t bytes) const {
    double rates = 0;
    auto total = static_cast<double>(bytes);
    for (const Measured& rail : rails_) {
      rates += rate(rail);
      total += static_cast<double>(rail.in_flight);
    }
    std::array<double, rails_max> wanted{};
    double sum = 0;
    for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
      const double even = static_cast<double>(bytes) / static_cast<double>(rails_.size());
      const double share = total * rate(rails_[rail]) / rates - static_cast<double>(rails_[rail].in_flight);
      wanted[rail] = std::max(share, share_min * even);
      sum += wanted[rail];
    }
    Division parts{};
    std::uint64_t left = bytes;
    for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
      const auto part = static_cast<std::uint64_t>(static_cast<double>(bytes) * wanted[rail] / sum);
      parts[rail] = std::min(left, part / alignment * alignment);
      left -= parts[rail];
    }
    parts[static_cast<std::size_t>(std::ranges::max_element(wanted) - wanted.begin())] += left;
    return parts;
  }

  std::vector<Measured> rails_;
};

}  // namespace plait::net::detail::rails
