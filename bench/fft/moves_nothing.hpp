// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "plait/fft/exchange.hpp"
#include "plait/fft/mpi/blocks.hpp"

namespace bench_fft {

/// An exchange that moves nothing, so that what is left is the computing. What comes are zeros.
class MovesNothing final : public plait::fft::Exchange {
 public:
  explicit MovesNothing(const plait::fft::BlockBytes& bytes)
      : to_places_{bytes.to}, from_places_{bytes.from}, to_{to_places_.bytes}, from_{from_places_.bytes} {
    std::fill_n(from_.data(), from_places_.bytes, std::byte{0});
  }
  std::span<std::byte> to(std::size_t member) override { return to_.part(to_places_, member); }
  std::span<const std::byte> from(std::size_t member) override { return from_.part(from_places_, member); }
  void start() override {}
  void wait() override {}

 private:
  const plait::fft::mpi::Places to_places_;
  const plait::fft::mpi::Places from_places_;
  const plait::fft::mpi::AlignedBytes to_;
  const plait::fft::mpi::AlignedBytes from_;
};

}  // namespace bench_fft
