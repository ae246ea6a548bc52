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

/// How the sentence of an error begins that ends a run in which nothing has moved.
inline constexpr std::string_view stall_sentence = "nothing has moved";

/// Whether a run ended because nothing moved, on this rank or on another.
[[nodiscard]] bool is_stall(const Error& error);

/// The tasks that have not ended, in words, the first 20. `kinds` are the names of their graph's kinds.
///
/// Threads: while the run goes on, the text may be out of date, never wrong for a run that does not move.
/// Cost: O(active).
[[nodiscard]] std::string describe_waiting(std::span<const Task> active, std::span<const std::string> kinds);

/// The tasks that have not ended and what waits for what among them, as a graph in DOT, at most 500 tasks: first those
/// that others wait for and that wait for nothing themselves.
[[nodiscard]] std::string waiting_graph(std::span<const Task> active, std::span<const std::string> kinds);

/// Writes `waiting_graph` to plait-waiting-rank-NNNN.dot in `folder` and reports it on stderr; never throws.
void write_waiting_graph(const std::filesystem::path& folder,
                         Rank self,
                         std::span<const Task> active,
                         std::span<const std::string> kinds) noexcept;

}  // namespace plait::task
