// SPDX-License-Identifier: Apache-2.0
#include "alltoall/window.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include "plait/base/random.hpp"

#include "alltoall/family.hpp"

namespace alltoall {

namespace {

std::string_view library_version() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return {text, static_cast<std::size_t>(length)};
}

/// Whether all ranks of the group say so.
bool all_agree(const Group& group, bool mine) {
  int yes = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &yes, 1, MPI_INT, MPI_MIN, group.comm());
  return yes != 0;
}

}  // namespace

Window::Window(const Group& group, std::size_t bytes, const Settings& settings) : group_{group} {
  // No trial can tell: where it fails, Open MPI 4 ends the job instead of returning an error.
  const bool is_known_to_fail = library_version().starts_with("Open MPI v4.") && !group.is_on_one_node();
  if (!all_agree(group, !is_known_to_fail) && !settings.is_one_sided_forced) {
    throw Unavailable{"Open MPI 4 fails at one-sided windows across nodes (--one-sided tries all the same)"};
  }
  void* memory = nullptr;
  group.in_turn(
      [&] { MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, group.comm(), &memory, &window_); });
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
