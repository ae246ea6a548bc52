// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/window.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/base/random.hpp"
#include "plait/net/mpi/detail/call.hpp"

namespace plait::net {

void in_turn(MPI_Comm world, MPI_Comm group, const std::function<void()>& make) {
  int leader = 0;
  int ranks = 0;
  MPI_Comm_rank(world, &leader);
  MPI_Comm_size(world, &ranks);
  MPI_Bcast(&leader, 1, MPI_INT, 0, group);
  std::vector<int> leaders(static_cast<std::size_t>(ranks));
  MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, world);
  std::ranges::sort(leaders);
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
  for (const int turn : leaders) {
    if (turn == leader) {
      make();
    }
    MPI_Barrier(world);
  }
}

Window::Window(MPI_Comm world, MPI_Comm group, std::size_t bytes, Kind kind) : group_{group} {
  int self = 0;
  int size = 0;
  MPI_Comm_rank(group, &self);
  MPI_Comm_size(group, &size);
  self_ = static_cast<std::size_t>(self);
  void* memory = nullptr;
  int code = MPI_SUCCESS;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(group, &handler);
  MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN);
  in_turn(world, group, [&] {
    const auto length = static_cast<MPI_Aint>(bytes);
    code = kind == Kind::shared ? MPI_Win_allocate_shared(length, 1, MPI_INFO_NULL, group, &memory, &window_)
                                : MPI_Win_allocate(length, 1, MPI_INFO_NULL, group, &memory, &window_);
  });
  MPI_Comm_set_errhandler(group, handler);
  MPI_Errhandler_free(&handler);
  int failures = code == MPI_SUCCESS ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, world);
  if (failures > 0) {
    if (code == MPI_SUCCESS) {
      MPI_Win_free(&window_);
    }
    throw Error{ErrorCode::network,
                fmt::format("MPI cannot make a window of {} bytes here: {}",
                            bytes,
                            code == MPI_SUCCESS ? "it failed on another rank" : detail::mpi_words(code))};
  }
  memory_ = {static_cast<std::byte*>(memory), bytes};
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  for (int rank = 0; kind == Kind::shared && rank < size; ++rank) {
    MPI_Aint its_bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, rank, &its_bytes, &unit, &memory);
    shared_.push_back(static_cast<const std::byte*>(memory));
  }
}

Window::~Window() {
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

void Window::get(std::span<std::byte> into, std::size_t rank, std::size_t offset) const {
  constexpr std::size_t bytes_max = std::size_t{1} << 30U;  // MPI counts in int
  if (rank == self_) {
    std::memcpy(into.data(), memory_.data() + offset, into.size());
    return;
  }
  for (std::size_t at = 0; at < into.size(); at += bytes_max) {
    const auto bytes = static_cast<int>(std::min(bytes_max, into.size() - at));
    const auto place = static_cast<MPI_Aint>(offset + at);
    MPI_Get(into.data() + at, bytes, MPI_BYTE, static_cast<int>(rank), place, bytes, MPI_BYTE, window_);
  }
}

void Window::flush() const {
  MPI_Win_flush_all(window_);
}

void Window::synchronise() const {
  MPI_Win_sync(window_);
  MPI_Barrier(group_);
  MPI_Win_sync(window_);
}

std::vector<std::size_t> random_order(std::size_t size, std::size_t self) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random{self + 1};
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left)]);
  }
  return order;
}

}  // namespace plait::net
