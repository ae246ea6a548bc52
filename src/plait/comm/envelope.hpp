// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/status.hpp"

namespace plait::comm {

/// The values by which messages and receives match. In a receive, source and tag may be wildcards.
struct MessageEnvelope {
  CommId comm = world;
  Rank source;
  Tag tag;

  friend bool operator==(const MessageEnvelope&, const MessageEnvelope&) = default;
};

}  // namespace plait::comm
