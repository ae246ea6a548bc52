// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plait/data/collections/mapping.hpp"

namespace plait::data {

/// How a collection behaves. All ranks must give the same.
struct CollectionOptions {
  /// Names the collection in errors, and its phases that have no name of their own.
  std::string name = "collection";
  /// Maps elements to their homes. Default: `block`, and `scattered` for ids beyond the shape.
  Mapping mapping;
};

}  // namespace plait::data
