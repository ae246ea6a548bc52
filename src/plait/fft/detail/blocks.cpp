// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/detail/blocks.hpp"

#include <utility>

namespace plait::fft::detail {

Places::Places(std::vector<std::size_t> lengths) : length{std::move(lengths)} {
  for (const std::size_t one : length) {
    offset.push_back(bytes);
    bytes += (one + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
  }
}

}  // namespace plait::fft::detail
