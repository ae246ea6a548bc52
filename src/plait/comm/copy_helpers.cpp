// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/copy_helpers.hpp"

#include <utility>

#include "plait/comm/detail/core.hpp"

namespace plait::comm {

CopyHelpers::CopyHelpers(Endpoint& endpoint, std::function<void(std::uint32_t)> wake)
    : endpoint_{endpoint}, wake_{std::move(wake)} {
  endpoint_.core_->copies().set_wake(&wake_);
}

CopyHelpers::~CopyHelpers() {
  endpoint_.core_->copies().set_wake(nullptr);
}

void CopyHelpers::set_copiers_max(Endpoint& endpoint, std::uint32_t count) noexcept {
  endpoint.core_->copies().set_copiers_max(count);
}

}  // namespace plait::comm
