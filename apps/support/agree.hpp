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

/// Throws `plait::Error` that names the option whose value, given or from a snapshot, is not what it must be.
void require(bool is_good, const char* option, const char* must_be);

/// Throws `AgreedError` on every rank when all ranks together have fewer than `least` of `what`, of which this one has
/// `mine`. Every rank calls it.
void refuse_too_few(plait::Runtime& runtime, const char* what, std::uint64_t mine, std::uint64_t least);

}  // namespace app
