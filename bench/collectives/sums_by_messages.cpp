// SPDX-License-Identifier: Apache-2.0
#include "collectives/sums_by_messages.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>

namespace bench {
namespace {

constexpr int sum_tag = 79;

void add_to(std::span<double> sums, std::span<const double> more) {
  std::ranges::transform(sums, more, sums.begin(), std::plus{});
}

}  // namespace

SumsByMessages::SumsByMessages(MPI_Comm comm) : comm_{comm} {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

void SumsByMessages::add_up(std::span<const double> own, std::span<double> sums, Prefix what) {
  partial_.assign(own.begin(), own.end());  // of the ranks that have exchanged with this one so far
  bool has_sums = what == Prefix::with_own;
  if (has_sums) {
    std::ranges::copy(own, sums.begin());
  }
  for (int distance = 1; distance < size_; distance *= 2) {
    const int peer = rank_ ^ distance;
    if (peer >= size_) {
      continue;
    }
    const std::span<const double> came = exchange(partial_, peer, peer, own.size());
    if (peer < rank_ && has_sums) {
      add_to(sums, came);
    } else if (peer < rank_) {
      std::ranges::copy(came, sums.begin());
      has_sums = true;
    }
    if (2 * distance < size_) {
      add_to(partial_, came);
    }
  }
}

void SumsByMessages::reduce_scatter(std::span<const double> blocks, std::span<double> sum) {
  if (std::has_single_bit(static_cast<unsigned>(size_))) {
    halve(blocks, sum);
  } else {
    exchange_pairwise(blocks, sum);
  }
}

void SumsByMessages::halve(std::span<const double> blocks, std::span<double> sum) {
  partial_.assign(blocks.begin(), blocks.end());
  std::span<double> left{partial_};  // the blocks of the ranks that this one still exchanges with
  for (int distance = size_ / 2; distance > 0; distance /= 2) {
    const bool is_upper = (rank_ & distance) != 0;
    const int peer = rank_ ^ distance;
    const std::size_t half = left.size() / 2;
    const std::span<double> mine = is_upper ? left.subspan(half) : left.first(half);
    const std::span<double> theirs = is_upper ? left.first(half) : left.subspan(half);
    add_to(mine, exchange(theirs, peer, peer, half));
    left = mine;
  }
  std::ranges::copy(left, sum.begin());
}

void SumsByMessages::exchange_pairwise(std::span<const double> blocks, std::span<double> sum) {
  const auto block = [&](int of) { return blocks.subspan(static_cast<std::size_t>(of) * sum.size(), sum.size()); };
  std::ranges::copy(block(rank_), sum.begin());
  for (int step = 1; step < size_; ++step) {
    const int to = (rank_ + step) % size_;
    add_to(sum, exchange(block(to), to, (rank_ + size_ - step) % size_, sum.size()));
  }
}

std::span<const double> SumsByMessages::exchange(std::span<const double> data, int to, int from, std::size_t count) {
  received_.resize(std::max(received_.size(), count));
  MPI_Sendrecv(data.data(),
               static_cast<int>(data.size()),
               MPI_DOUBLE,
               to,
               sum_tag,
               received_.data(),
               static_cast<int>(count),
               MPI_DOUBLE,
               from,
               sum_tag,
               comm_,
               MPI_STATUS_IGNORE);
  return std::span{received_}.first(count);
}

}  // namespace bench
