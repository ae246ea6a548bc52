// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "plait/plait.hpp"

namespace app {

/// An error that all ranks have met, so that none waits for another.
class AgreedError : public plait::Error {
 public:
  explicit AgreedError(const plait::Error& error) : plait::Error{error} {}
};

/// Calls `work` on every rank. If it throws on any, throws `AgreedError` on all, with the error of the lowest rank.
/// Collective. `work` must not wait for a rank whose `work` may fail before.
void agree(plait::Runtime& runtime, const std::function<void()>& work);

/// Calls `work`, in which all ranks throw the same error or none does.
template <class Work>
auto as_agreed(Work work) {
  try {
    return work();
  } catch (const plait::Error& error) {
    throw AgreedError{error};
  }
}

/// Throws `plait::Error` that names the option whose value, given or from a snapshot, is not what it must be.
void require(bool is_good, const char* option, const char* must_be);

/// Throws `AgreedError` on every rank when all ranks together have fewer than `least` of `what`, of which this one has
/// `mine`. Every rank calls it.
void refuse_too_few(plait::Runtime& runtime, const char* what, std::uint64_t mine, std::uint64_t least);

}  // namespace app
