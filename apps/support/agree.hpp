// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "plait/plait.hpp"

namespace app {

/// An error that all ranks throw, so that none waits for another.
class AgreedError : public plait::Error {
 public:
  explicit AgreedError(const plait::Error& error) : plait::Error{error} {}
};

/// Calls `work` on every rank. Throws `AgreedError` on all ranks if it throws on any, with the error of the lowest
/// rank. Collective. `work` must not wait for a rank whose `work` may fail.
void agree(plait::Runtime& runtime, const std::function<void()>& work);

/// Calls `work`, in which all ranks throw the same error or none; throws it as an `AgreedError`.
template <class Work>
auto as_agreed(Work work) {
  try {
    return work();
  } catch (const plait::Error& error) {
    throw AgreedError{error};
  }
}

/// Throws `plait::Error` unless `is_good`: the value of `option`, given or from a snapshot, must be `must_be`.
void require(bool is_good, const char* option, const char* must_be);

/// Throws `AgreedError` on every rank when all ranks have fewer than `least` of `what` in total. `mine`: the number on
/// this rank. Collective.
void refuse_too_few(plait::Runtime& runtime, const char* what, std::uint64_t mine, std::uint64_t least);

}  // namespace app
