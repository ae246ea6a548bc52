// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/tree.hpp"

#include <algorithm>
#include <iterator>

#include "plait/data/serialize.hpp"

namespace plait::data::balance::detail {

Steps<std::vector<Bytes>> gather(Rounds& rounds, Bytes mine) {
  const std::uint32_t self = rounds.self().value();
  const std::uint32_t count = rounds.rank_count();
  std::vector<Bytes> all{std::move(mine)};  // of the tree below this rank, in order of rank
  for (std::uint32_t bit = 1; bit < count; bit <<= 1U) {
    const bool is_above = self % (2 * bit) == 0 && self + bit < count;
    std::vector<Mail> out;
    if (self % (2 * bit) == bit) {
      out.push_back({Rank{self - bit}, pack(all)});
    }
    const std::vector<Mail> inbox = co_await rounds.exchange(std::move(out), is_above ? 1 : 0);
    if (is_above) {
      std::ranges::move(unpack_as<std::vector<Bytes>>(inbox.front().bytes), std::back_inserter(all));
    }
  }
  co_return self == 0 ? std::move(all) : std::vector<Bytes>{};
}

Steps<Bytes> scatter(Rounds& rounds, std::vector<Bytes> all) {
  const std::uint32_t self = rounds.self().value();
  const std::uint32_t count = rounds.rank_count();
  std::uint32_t top = 1;
  while (top * 2 < count) {
    top *= 2;
  }
  for (std::uint32_t bit = top; bit >= 1 && count > 1; bit >>= 1U) {
    const bool is_below = self % (2 * bit) == bit;
    std::vector<Mail> out;
    if (self % (2 * bit) == 0 && self + bit < count) {  // `all` is of this rank and those behind it
      const auto behind = all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(bit, all.size()));
      out.push_back({Rank{self + bit}, pack(std::vector<Bytes>(behind, all.end()))});
      all.resize(bit);
    }
    const std::vector<Mail> inbox = co_await rounds.exchange(std::move(out), is_below ? 1 : 0);
    if (is_below) {
      all = unpack_as<std::vector<Bytes>>(inbox.front().bytes);
    }
  }
  co_return std::move(all.front());
}

}  // namespace plait::data::balance::detail
