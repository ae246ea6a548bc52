// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plait/base/id.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/collections/engine/element.hpp"
#include "plait/data/collections/shape.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data::detail {

class ElementCalls;
class ElementTable;
class Links;
class Mailroom;
class News;
class PhaseControl;
class Places;

/// Data that all parts of a collection's engine share. Borrowed objects outlive the collection.
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

/// The parts of a collection's engine.
struct EngineParts {
  const CollectionInfo& info;
  ElementTable& table;
  Places& places;
  News& news;
  Links& links;
  PhaseControl& phase;
  Mailroom& mail;
  ElementCalls& calls;
};

/// The functions that a phase calls for each element, step after step.
struct PhaseWork {
  void* function = nullptr;
  void (*call)(void* function, void* object, ElementContext& context, std::uint64_t step) = nullptr;
  std::uint64_t steps = 0;
  void* inputs_function = nullptr;
  /// Returns how many messages a step waits for; null: none.
  std::uint64_t (*inputs)(void* inputs_function, void* object, std::uint64_t step) = nullptr;
  std::shared_ptr<void> keeps;  ///< Owns the functions of a phase that outlives the call that starts it.
};

}  // namespace plait::data::detail
