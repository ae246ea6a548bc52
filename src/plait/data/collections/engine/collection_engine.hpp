// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/data/collections/engine/collection_info.hpp"
#include "plait/data/collections/mapping.hpp"
#include "plait/data/collections/phase_gate.hpp"
#include "plait/data/collections/report.hpp"
#include "plait/task/run/run.hpp"

namespace plait::data::detail {

/// A collection without the type of its elements: compiled once, `Collection` is the template above it.
///
/// Puts its parts together, each in a file of detail/: where elements are (`Places`), those here (`ElementTable`), news
/// of others (`News`), messages between ranks (`Links`) and to elements (`Mailroom`), what elements do
/// (`ElementCalls`), when phases end (`PhaseControl`), and moves (`Migration`). Threads: its maker's, one at a time. No
/// call but those of its phase is allowed while a phase is open: they throw `Error` with `bad_argument`.
class CollectionEngine {
 public:
  struct Borrowed {
    comm::Endpoint& endpoint;
    task::Scheduler& scheduler;
    trace::Recorder& recorder;
  };
  /// Collective.
  CollectionEngine(const Borrowed& borrowed, const Shape& shape, CollectionOptions options, const ElementKind& kind);
  CollectionEngine(const CollectionEngine&) = delete;
  CollectionEngine& operator=(const CollectionEngine&) = delete;
  ~CollectionEngine();

  [[nodiscard]] const CollectionInfo& info() const noexcept;
  [[nodiscard]] const comm::Group& group() const noexcept;
  [[nodiscard]] Rank home(ElementId id) const;
  /// See `Elements::placement_version`.
  [[nodiscard]] std::uint64_t placement() const noexcept;

  // ---- elements ----
  /// Takes over an element that every rank knows to be here, its home.
  void add(ElementId id, Element& element);
  /// Takes over a new element, whose home may be anywhere.
  void create(ElementId id, Element& element);
  /// Gives an element of this rank up: it is the caller's.
  [[nodiscard]] Element* take_out(ElementId id);
  /// Null when it is not here.
  [[nodiscard]] Element* find(ElementId id) const;
  /// In order of id.
  [[nodiscard]] std::span<Element* const> local() const;
  /// An element of this rank as it moves. Throw: `Error` that names the element.
  [[nodiscard]] Bytes pack(ElementId id) const;
  [[nodiscard]] Bytes pack(const Element& element) const;
  [[nodiscard]] Element* unpack(ElementId id, std::span<const std::byte> packed) const;
  void reset_loads();
  /// See `Elements::overhead_seconds`.
  [[nodiscard]] nanoseconds overhead() const noexcept;

  // ---- phases; collective ----
  void start(PhaseWork work, std::string_view name, PhaseGate* gate);
  /// The run of the phase that is open; null between phases.
  [[nodiscard]] task::Run* run() const noexcept;
  enum class Flush : bool { no, yes };
  /// Waits for the phase, and ends it. `Flush::no`: in a callback, after the phase is over.
  PhaseReport finish(Flush flush);
  /// Takes over a message that is sent with the next phase.
  void send_later(ElementId to, Mail& mail);
  MigrationReport migrate(std::span<const Move> moves);
  /// Takes over these elements, each from one rank, and destroys all others.
  void replace(std::span<const std::pair<ElementId, Element*>> elements);

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace plait::data::detail
