// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"

namespace pic {

/// What the solver and the static way need of the other ranks of a run. All of it is collective: every rank makes the
/// same calls in the same order. `mpi/mpi_ranks.hpp` is the plain MPI one.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  [[nodiscard]] virtual int self() const noexcept = 0;
  [[nodiscard]] virtual int count() const noexcept = 0;
  /// Sends `out[r]` to each rank r and fills `in[r]` with what r sent here, whose length is that of `in[r]` already.
  /// Nothing is sent where the length is 0. `out` is used up: its buffers may come back with other contents.
  virtual void exchange(std::span<plait::Bytes> out, std::span<plait::Bytes> in) = 0;
  /// As `exchange`, where the receiver does not know the lengths before: sets them.
  virtual void exchange_unknown(std::span<plait::Bytes> out, std::span<plait::Bytes> in) = 0;
  /// Every element becomes its sum over all ranks, modulo 2^64.
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
