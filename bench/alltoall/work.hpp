// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace alltoall {

/// What the artificial computation does.
enum class WorkKind : std::uint8_t {
  sincos,  ///< The loop of sines and cosines of PSDNS's harness: no memory traffic, which favours overlap.
  stream,  ///< a = b + s c over arrays larger than the caches: competes with the communication for memory.
};

/// Units first .. last - 1 of work.
struct Units {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Part `index` of `count` of `units`. The parts are consecutive and contain all units; the remainder of the division
/// is spread over them.
[[nodiscard]] Units part_of(std::uint64_t units, std::uint64_t index, std::uint64_t count);

/// How many units take `seconds` when one takes `seconds_a_unit`; at least 1.
[[nodiscard]] std::uint64_t units_that_take(double seconds, double seconds_a_unit);

/// The artificial computation behind which communication is hidden: a number of equal units, done at once or in parts.
class Work {
 public:
  explicit Work(WorkKind kind);

  void set_units(std::uint64_t units) noexcept { units_ = units; }
  [[nodiscard]] std::uint64_t units() const noexcept { return units_; }

  void run_all() { run_part(0, 1); }
  /// Runs part `index` of `count`, as `part_of`.
  void run_part(std::uint64_t index, std::uint64_t count);

  /// Seconds spent in `run_part` since the last call.
  [[nodiscard]] double take_seconds() noexcept;
  /// The result of all the work. The caller must use it, so that the compiler does not remove the work.
  [[nodiscard]] double result() const noexcept { return result_; }

 private:
  void run_sincos(Units units);
  void run_stream(Units units);

  WorkKind kind_;
  std::uint64_t units_ = 0;
  double seconds_ = 0;
  double result_ = 0;
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
  std::size_t place_ = 0;  ///< Where the stream continues.
};

}  // namespace alltoall
