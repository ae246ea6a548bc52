// SPDX-License-Identifier: Apache-2.0
#include "alltoall/window.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "plait/base/random.hpp"

#include "alltoall/family.hpp"

namespace alltoall {

namespace {

/// MPI's own words for an error, or nothing for success.
std::string words_for(int code) {
  if (code == MPI_SUCCESS) {
    return {};
  }
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace

Window::Window(const Group& group, std::size_t bytes) : group_{group} {
  void* memory = nullptr;
  int code = MPI_SUCCESS;
  MPI_Comm_set_errhandler(group.comm(), MPI_ERRORS_RETURN);
  group.in_turn([&] {
    code = MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, group.comm(), &memory, &window_);
  });
  MPI_Comm_set_errhandler(group.comm(), MPI_ERRORS_ARE_FATAL);
  int failures = code == MPI_SUCCESS ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, group.comm());
  if (failures > 0) {
    throw Unavailable{fmt::format("MPI_Win_allocate fails here: {}", words_for(code))};
  }
  memory_ = {static_cast<std::byte*>(memory), bytes};
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
}

Window::~Window() {
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

void Window::get(std::span<std::byte> into, std::size_t rank, std::size_t offset) const {
  if (rank == group_.self()) {
    std::memcpy(into.data(), memory_.data() + offset, into.size());
    return;
  }
  const int bytes = static_cast<int>(into.size());
  MPI_Get(
      into.data(), bytes, MPI_BYTE, static_cast<int>(rank), static_cast<MPI_Aint>(offset), bytes, MPI_BYTE, window_);
}

void Window::synchronise() const {
  MPI_Win_sync(window_);
  group_.barrier();
  MPI_Win_sync(window_);
}

std::vector<std::size_t> random_order(const Group& group) {
  std::vector<std::size_t> order(group.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  plait::Random random{group.self() + 1};
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left)]);
  }
  return order;
}

}  // namespace alltoall
