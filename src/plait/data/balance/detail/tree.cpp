// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/tree.hpp"

#include <cstring>

namespace plait::data::balance::detail {
namespace {

using Size = std::uint64_t;

void append_framed(Bytes& row, const Bytes& one) {
  const Size size = one.size();
  const std::size_t place = row.size();
  row.resize(place + sizeof size + one.size());
  std::memcpy(row.data() + place, &size, sizeof size);
  if (size > 0) {
    std::memcpy(row.data() + place + sizeof size, one.data(), one.size());
  }
}

std::vector<Bytes> unframed(std::span<const std::byte> row) {
  std::vector<Bytes> all;
  while (!row.empty()) {
    const Size size = values_of<Size>(row.first(sizeof(Size))).front();
    const std::span<const std::byte> one = row.subspan(sizeof(Size), size);
    all.emplace_back(one.begin(), one.end());
    row = row.subspan(sizeof(Size) + size);
  }
  return all;
}

}  // namespace

Steps<std::vector<Bytes>> gather(Rounds& rounds, Bytes mine) {
  const std::uint32_t self = rounds.self().value();
  const std::uint32_t count = rounds.rank_count();
  Bytes row;  // of the tree below this rank, in order of rank
  append_framed(row, mine);
  for (std::uint32_t bit = 1; bit < count; bit <<= 1U) {
    const bool is_above = self % (2 * bit) == 0 && self + bit < count;
    std::vector<Mail> out;
    if (self % (2 * bit) == bit) {
      out.push_back({Rank{self - bit}, std::move(row)});
    }
    const std::vector<Mail> inbox = co_await rounds.exchange(std::move(out), is_above ? 1 : 0);
    if (is_above) {
      row.insert(row.end(), inbox.front().bytes.begin(), inbox.front().bytes.end());
    }
  }
  co_return self == 0 ? unframed(row) : std::vector<Bytes>{};
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
      Bytes row;
      for (std::size_t i = bit; i < all.size(); ++i) {
        append_framed(row, all[i]);
      }
      all.resize(bit);
      out.push_back({Rank{self + bit}, std::move(row)});
    }
    const std::vector<Mail> inbox = co_await rounds.exchange(std::move(out), is_below ? 1 : 0);
    if (is_below) {
      all = unframed(inbox.front().bytes);
    }
  }
  co_return std::move(all.front());
}

}  // namespace plait::data::balance::detail
