// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/claimed_comms.hpp"

#include "plait/comm/detail/core.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::comm {

ClaimedComms::~ClaimedComms() {
  if (endpoint_ != nullptr) {
    endpoint_->core_->release_comms(first_, count_);
  }
}

}  // namespace plait::comm
