// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm {

/// Completes when every member has called it. Non-blocking. Cost: ceil(log2(size)) rounds of one empty message to and
/// from each member (dissemination: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988).
/// With nodes, one member of each node does so, when the others have reported to it.
Request barrier(const Group& group);

}  // namespace plait::comm
