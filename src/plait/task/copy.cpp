// SPDX-License-Identifier: Apache-2.0
#include "plait/task/copy.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"

namespace plait::task {

namespace {

constexpr double enough = 0.9;  // of the best bandwidth
constexpr int repetitions = 4;  // the first also has the system provide the pages

/// A copy that several workers take pieces of, until nothing is left: a late worker delays no other.
template <class Move>
struct Shared {
  Shared(Move its_move, std::size_t its_bytes, std::size_t its_piece)
      : move{std::move(its_move)}, bytes{its_bytes}, piece{its_piece} {}

  void help() {
    // Orders nothing: what was copied is published by the end of the task.
    const auto take = [this] { return next.fetch_add(piece, std::memory_order_relaxed); };
    for (std::size_t offset = take(); offset < bytes; offset = take()) {
      move(offset, std::min(piece, bytes - offset));
    }
  }

  Move move;
  std::size_t bytes;
  std::size_t piece;
  std::atomic<std::size_t> next = 0;
};

/// Bytes a second, the best of some copies by `thread_count` threads at once.
double measure(std::uint32_t thread_count, std::span<const std::byte> from, std::span<std::byte> to) {
  using Clock = std::chrono::steady_clock;
  std::atomic<Clock::rep> start = 0;
  Clock::duration best = Clock::duration::max();
  bool has_warmed_up = false;
  // Run by the last to arrive, at every beginning and every end.
  bool is_beginning = true;
  const auto note = [&]() noexcept {
    const Clock::rep now = Clock::now().time_since_epoch().count();
    if (!std::exchange(is_beginning, !is_beginning) && std::exchange(has_warmed_up, true)) {
      best = std::min(best, Clock::duration{now - start.load(std::memory_order_relaxed)});  // the barrier orders it
    }
    start.store(now, std::memory_order_relaxed);
  };
  std::barrier together{static_cast<std::ptrdiff_t>(thread_count), note};
  const std::size_t part = from.size() / thread_count;
  const auto copy_part = [&](std::uint32_t thread) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      together.arrive_and_wait();
      std::memcpy(to.data() + thread * part, from.data() + thread * part, part);
      together.arrive_and_wait();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t thread = 1; thread < thread_count; ++thread) {
      threads.emplace_back(copy_part, thread);
    }
    copy_part(0);
  }
  return static_cast<double>(part * thread_count) / std::chrono::duration<double>(best).count();
}

}  // namespace

std::uint32_t cores_worth_using(std::span<const double> bandwidths) {
  expect(!bandwidths.empty(), "there is a bandwidth of one core");
  const double best = *std::ranges::max_element(bandwidths);
  const auto first = std::ranges::find_if(bandwidths, [&](double value) { return value >= enough * best; });
  return static_cast<std::uint32_t>(first - bandwidths.begin()) + 1;
}

CopyLimits measure_copy_limits(std::uint32_t core_count, std::size_t bytes) {
  Bytes from(bytes);
  Bytes to(bytes);
  std::memset(from.data(), 1, from.size());  // else all its pages are one and the same
  std::vector<double> bandwidths;
  for (std::uint32_t count = 1; count <= std::max(core_count, 1U); ++count) {
    bandwidths.push_back(measure(count, from, to));
  }
  return {.core_count_max = cores_worth_using(bandwidths)};
}

template <class Move>
std::uint32_t Copier::divide(TaskContext& context, std::size_t from_bytes, std::size_t bytes, Move move) const {
  expect(from_bytes == bytes, "a copy is as long as what is copied");
  if (bytes == 0) {
    return 0;
  }
  const std::size_t piece = std::max<std::size_t>(limits_.piece_bytes, 1);
  const std::size_t pieces = (bytes + piece - 1) / piece;
  std::uint32_t helpers = 0;
  if (bytes >= limits_.divided_bytes_min && limits_.core_count_max > 1) {
    const std::uint32_t wanted = std::min(context.idle_workers(), limits_.core_count_max - 1);
    helpers = static_cast<std::uint32_t>(std::min<std::size_t>(wanted, pieces - 1));
  }
  if (helpers == 0) {
    move(0, bytes);
    return 0;
  }
  const auto shared = std::make_shared<Shared<Move>>(std::move(move), bytes, piece);
  for (std::uint32_t helper = 0; helper < helpers; ++helper) {
    context.spawn(kind_, [shared](TaskContext&) { shared->help(); });
  }
  shared->help();
  return helpers;
}

std::uint32_t Copier::copy(TaskContext& context, std::span<const std::byte> from, std::span<std::byte> to) const {
  return divide(context, from.size(), to.size(), [from, to](std::size_t offset, std::size_t bytes) {
    std::memcpy(to.data() + offset, from.data() + offset, bytes);
  });
}

std::uint32_t Copier::gather(TaskContext& context, const comm::Layout& from, std::span<std::byte> to) const {
  return divide(context, from.size(), to.size(), [from, to](std::size_t offset, std::size_t bytes) {
    from.gather(offset, to.subspan(offset, bytes));
  });
}

std::uint32_t Copier::scatter(TaskContext& context, std::span<const std::byte> from, const comm::Layout& to) const {
  return divide(context, from.size(), to.size(), [from, to](std::size_t offset, std::size_t bytes) {
    to.scatter(offset, from.subspan(offset, bytes));
  });
}

}  // namespace plait::task
