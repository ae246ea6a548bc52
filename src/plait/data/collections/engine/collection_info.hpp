// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "plait/base/id.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/collections/engine/element.hpp"
#include "plait/data/collections/shape.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data::detail {

/// What all parts of a collection's engine know. Borrowed objects outlive the collection.
struct CollectionInfo {
  comm::Endpoint& endpoint;
  task::Scheduler& scheduler;
  trace::Recorder& recorder;
  const ElementKind& kind;
  Rank self;
  std::uint32_t rank_count;
  Shape shape;
  std::string name;
};

}  // namespace plait::data::detail
