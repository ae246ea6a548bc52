// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/comm/completion.hpp"
#include "plait/data/references/detail/stage.hpp"
#include "plait/task/detail/kernel_storage.hpp"
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

  void (*call)(Job&) = nullptr;
  task::detail::KernelStorage<96> kernel;

  [[nodiscard]] std::span<Use> uses() noexcept {
    return {many_uses.empty() ? few_uses.data() : many_uses.data(), use_count};
  }
};

}  // namespace plait::data::detail
