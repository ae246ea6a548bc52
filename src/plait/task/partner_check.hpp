// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/task/graph.hpp"

namespace plait::task {

/// Messages between two ranks that are sent more often than received, or the other way round. Kinds are the names of
/// the tasks; empty where there is none.
struct LonelyMessage {
  Rank source{};  ///< `any_source` when a receive that takes any is left over.
  Rank destination{};
  Tag tag{};  ///< `any_tag` likewise.
  comm::CommId comm{};
  std::uint32_t send_count = 0;
  std::uint32_t receive_count = 0;
  std::string send_kind;
  std::string receive_kind;
};

/// "from rank 0 to rank 1 with tag 7: 1 send ('halo'), 0 receives"
[[nodiscard]] std::string to_string(const LonelyMessage& message);

/// Compares, between each two ranks, what their active tasks send with what they receive: finds before a run what it
/// would hang of.
///
/// Every rank calls it with the tasks that it is about to run; each learns of the messages that itself sends or
/// receives and that lack a partner, both sides of each. Receives from any rank or with any tag take what no other
/// receive asks for. Sees tasks of the graph only, not what bodies send. Waits, making progress; throws as
/// `Endpoint::progress_until`. Cost: 32 bytes to each rank; lists only between ranks that differ.
[[nodiscard]] std::vector<LonelyMessage> find_lonely_messages(comm::Endpoint& endpoint,
                                                              const Graph& graph,
                                                              std::span<const Task> active);

/// Throws on every rank, when any has found one, an `Error` with `bad_argument` that names its lonely messages, or who
/// knows more. Otherwise as `find_lonely_messages`.
void check_partners(comm::Endpoint& endpoint, const Graph& graph, std::span<const Task> active);

}  // namespace plait::task
