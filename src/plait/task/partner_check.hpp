// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/task/graph.hpp"

namespace plait::task {

/// Messages between two ranks whose numbers of sends and receives differ. Kinds are the names of the tasks, empty where
/// there is none.
struct LonelyMessage {
  Rank source{};  ///< `any_source` for a wildcard receive that is left over.
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

/// Finds messages of active tasks that lack a partner, before a run hangs because of them. Collective.
///
/// `active`: the tasks that this rank is about to run. Returns the messages that this rank sends or receives. Wildcard
/// receives take what no other receive matches. Messages that bodies send are not checked. Waits, making progress.
/// Throws: as `Endpoint::progress_until`. Cost: 32 bytes to each rank; lists only between ranks that differ.
[[nodiscard]] std::vector<LonelyMessage> find_lonely_messages(comm::Endpoint& endpoint,
                                                              const Graph& graph,
                                                              std::span<const Task> active);

/// Throws on every rank, when `find_lonely_messages` returns any on one, an `Error` with `bad_argument` that names the
/// messages, or a rank that does.
void check_partners(comm::Endpoint& endpoint, const Graph& graph, std::span<const Task> active);

}  // namespace plait::task
