// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <boost/align/aligned_allocator.hpp>

namespace plait::particles {

/// A vector aligned to cache lines.
template <class T>
using LineVector = std::vector<T, boost::alignment::aligned_allocator<T, 64>>;

}  // namespace plait::particles
