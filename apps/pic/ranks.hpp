// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"

namespace pic {

/// Communication between the ranks of a run. All calls that communicate are collective. `mpi/mpi_ranks.hpp` implements
/// it by plain MPI.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  [[nodiscard]] virtual int self() const noexcept = 0;
  [[nodiscard]] virtual int count() const noexcept = 0;
  /// Sends `out[r]` to each rank r and fills `in[r]` with the data from r. The caller sets the length of `in[r]`.
  /// Nothing is sent where the length is 0. The contents of `out` are unspecified afterwards.
  virtual void exchange(std::span<plait::Bytes> out, std::span<plait::Bytes> in) = 0;
  /// As `exchange`, but sets the lengths of `in`, which the receiver does not know.
  virtual void exchange_unknown(std::span<plait::Bytes> out, std::span<plait::Bytes> in) = 0;
  /// Replaces every element by its sum over all ranks, modulo 2^64.
  virtual void sum(std::span<std::int64_t> values) = 0;
  /// The largest of all ranks' values. Expects: none is a NaN.
  [[nodiscard]] virtual double max(double value) = 0;
};

/// The only rank of a run.
class OneRank final : public Ranks {
 public:
  [[nodiscard]] int self() const noexcept override { return 0; }
  [[nodiscard]] int count() const noexcept override { return 1; }
  void exchange(std::span<plait::Bytes> out, std::span<plait::Bytes> in) override { in[0].swap(out[0]); }
  void exchange_unknown(std::span<plait::Bytes> out, std::span<plait::Bytes> in) override { in[0].swap(out[0]); }
  void sum(std::span<std::int64_t>) override {}
  [[nodiscard]] double max(double value) override { return value; }
};

}  // namespace pic
