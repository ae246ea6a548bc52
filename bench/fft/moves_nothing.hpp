// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "plait/fft/detail/blocks.hpp"
#include "plait/fft/exchange.hpp"

namespace bench_fft {

/// An exchange that moves nothing, so that only computing is left. All received values are zeros.
class MovesNothing final : public plait::fft::Exchange {
 public:
  explicit MovesNothing(const plait::fft::BlockBytes& bytes)
      : to_{plait::fft::detail::Places{bytes.to}}, from_{plait::fft::detail::Places{bytes.from}} {
    std::fill_n(from_.data(), from_.places.bytes, std::byte{0});
  }
  std::span<std::byte> to(std::size_t member) override { return to_[member]; }
  std::span<const std::byte> from(std::size_t member) override { return from_[member]; }
  void start() override {}
  void wait() override {}

 private:
  const plait::fft::detail::Blocks to_;
  const plait::fft::detail::Blocks from_;
};

}  // namespace bench_fft
