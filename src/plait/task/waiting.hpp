// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "plait/base/error.hpp"
#include "plait/base/id.hpp"
#include "plait/task/graph.hpp"

namespace plait::task {

/// The beginning of the error that ends a run without progress.
inline constexpr std::string_view stall_sentence = "nothing has moved";

/// Returns whether a run ended because nothing moved, on this rank or on another.
[[nodiscard]] bool is_stall(const Error& error);

/// Describes the first 20 tasks that have not ended. `kinds`: the names of their graph's kinds. During a run, the text
/// may be out of date. Cost: O(active).
[[nodiscard]] std::string describe_waiting(std::span<const Task> active, std::span<const std::string> kinds);

/// Returns the tasks that have not ended and their dependencies as a DOT graph, at most 500: first those that wait for
/// no other.
[[nodiscard]] std::string waiting_graph(std::span<const Task> active, std::span<const std::string> kinds);

/// Writes `waiting_graph` to plait-waiting-rank-NNNN.dot in `folder` and reports it on stderr; never throws.
void write_waiting_graph(const std::filesystem::path& folder,
                         Rank self,
                         std::span<const Task> active,
                         std::span<const std::string> kinds) noexcept;

}  // namespace plait::task
