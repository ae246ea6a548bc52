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
#include "plait/data/collections/options.hpp"
#include "plait/data/collections/phase_gate.hpp"
#include "plait/data/collections/report.hpp"
#include "plait/task/run/run.hpp"

namespace plait::data::detail {

/// A collection without the type of its elements, which is compiled once; `Collection` is the template above it.
///
/// Composes its parts, each in a file of detail/: locations (`Places`), elements here (`ElementTable`), creations and
/// removals (`News`), messages between ranks (`Links`) and to elements (`Mailroom`), execution (`ElementCalls`) and
/// phases (`PhaseControl`). Threads: one at a time. While a phase is open, all calls but those of the phase throw
/// `Error` with `bad_argument`.
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
  /// Takes over an element that has its home here and exists from the beginning.
  void add(ElementId id, Element& element);
  /// Takes over a new element, whose home may be anywhere.
  void create(ElementId id, Element& element);
  /// Removes an element of this rank, which the caller owns from then on.
  [[nodiscard]] Element* take_out(ElementId id);
  /// Returns an element of this rank, or null.
  [[nodiscard]] Element* find(ElementId id) const;
  /// Returns the elements of this rank, in order of id.
  [[nodiscard]] std::span<Element* const> local() const;
  /// Pack and unpack an element. Throw: `Error` that names the element.
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
  /// Waits for the phase, and closes it. `Flush::no`: in a callback, after the phase is over.
  PhaseReport finish(Flush flush);
  /// Takes over a message, and sends it with the next phase.
  void send_later(ElementId to, Mail& mail);
  MigrationReport migrate(std::span<const Move> moves);
  /// Takes over these elements, each from one rank, and destroys all others.
  void replace(std::span<const std::pair<ElementId, Element*>> elements);

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace plait::data::detail
