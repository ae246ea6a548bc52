// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/checkpoint.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"

namespace plait::data {
namespace {

std::string describe(const Shape& shape) {
  return shape.is_regular() ? fmt::format("{}", fmt::join(extents_of(shape), " x ")) : "irregular";
}

}  // namespace

const PackedElements& Checkpoint::elements(std::string_view collection,
                                           std::string_view type,
                                           const Shape& shape) const {
  const auto found = std::ranges::find(collections, collection, &PackedElements::collection);
  if (found == collections.end()) {
    std::vector<std::string> names;
    std::ranges::transform(collections, std::back_inserter(names), &PackedElements::collection);
    throw Error{ErrorCode::bad_input,
                fmt::format("the checkpoint of step {} has no collection '{}', only: {}; was it written by another "
                            "version of the program?",
                            step,
                            collection,
                            fmt::join(names, ", "))};
  }
  if (found->type != type) {
    throw Error{ErrorCode::bad_input,
                fmt::format("the checkpoint of step {} holds elements of type '{}' in collection '{}', not of '{}': "
                            "restart with the version of the program that wrote it",
                            step,
                            found->type,
                            collection,
                            type)};
  }
  if (extents_of(found->shape) != extents_of(shape)) {
    throw Error{ErrorCode::bad_input,
                fmt::format("collection '{}' in the checkpoint of step {} has the shape {}, not {}: restart with the "
                            "options of the run that wrote it",
                            collection,
                            step,
                            describe(found->shape),
                            describe(shape))};
  }
  return *found;
}

const CheckpointValue& Checkpoint::find(const std::string& key) const {
  const auto found = values.find(key);
  if (found == values.end()) {
    throw Error{ErrorCode::bad_input,
                fmt::format("the checkpoint of step {} has no value '{}'; was it written by another version of the "
                            "program?",
                            step,
                            key)};
  }
  return found->second;
}

void Checkpoint::throw_other_type(const std::string& key) const {
  throw Error{
      ErrorCode::bad_input,
      fmt::format(
          "the value '{}' in the checkpoint of step {} is of another type than the program expects", key, step)};
}

}  // namespace plait::data
