// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "plait/plait.hpp"

namespace app {

/// Trouble that every rank has met alike, so that none waits for another.
class AgreedError : public plait::Error {
 public:
  explicit AgreedError(const plait::Error& error) : plait::Error{error} {}
};

/// Does `work` on this rank; throws `AgreedError` on every rank with what the lowest rank met, when any met something.
/// Every rank calls it. `work` must not wait for a rank whose `work` may fail before.
void agree(plait::Runtime& runtime, const std::function<void()>& work);

}  // namespace app
