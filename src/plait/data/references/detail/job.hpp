// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/comm/completion.hpp"
#include "plait/data/references/detail/stage.hpp"
#include "plait/task/detail/node.hpp"

namespace plait::data::detail {

class WorkEngine;

/// A deferred task: a task of an open run that starts when its values are there. From a pool, until it has ended.
struct Job final : task::detail::Node, comm::Completion {
  explicit Job(WorkEngine& its_engine) : Node{task::TaskKind{0}}, engine{its_engine} {}

  /// Of its message.
  void completed(const comm::Status& /*status*/) noexcept override {}
  void released(const comm::Status& status) noexcept override;

  WorkEngine& engine;
  bool is_to_start = false;  ///< Counts as an event whose end starts it: how threads that are no workers start jobs.
  bool has_run = false;
  std::uint8_t use_count = 0;
  Job* next_ready = nullptr;

  static constexpr std::size_t uses_in_place = 4;
  std::array<Use, uses_in_place> few_uses;
  std::vector<Use> many_uses;  ///< In the place of `few_uses` where these are not enough.
  Stage* result = nullptr;     ///< Held.

  static constexpr std::size_t kernel_bytes = 96;
  void (*call)(Job&) = nullptr;
  void (*destroy)(Job&) noexcept = nullptr;
  void* kernel = nullptr;  ///< In `kernel_memory` or, when it is large, on the heap.
  alignas(std::max_align_t) std::byte kernel_memory[kernel_bytes]{};

  [[nodiscard]] std::span<Use> uses() noexcept {
    return {many_uses.empty() ? few_uses.data() : many_uses.data(), use_count};
  }

  template <class Kernel>
  std::decay_t<Kernel>& emplace(Kernel&& made) {
    using Kept = std::decay_t<Kernel>;
    if constexpr (sizeof(Kept) <= kernel_bytes && alignof(Kept) <= alignof(std::max_align_t)) {
      kernel = ::new (static_cast<void*>(kernel_memory)) Kept(std::forward<Kernel>(made));
      destroy = [](Job& job) noexcept { std::destroy_at(static_cast<Kept*>(job.kernel)); };
    } else {
      kernel = new Kept(std::forward<Kernel>(made));
      destroy = [](Job& job) noexcept { delete static_cast<Kept*>(job.kernel); };
    }
    return *static_cast<Kept*>(kernel);
  }
};

}  // namespace plait::data::detail
