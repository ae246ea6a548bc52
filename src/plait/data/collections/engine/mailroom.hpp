// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/data/collections/engine/collection_info.hpp"
#include "plait/data/collections/engine/element.hpp"
#include "plait/data/collections/report.hpp"

namespace plait::data::detail {

class ElementCalls;
class ElementTable;
class Links;
class News;
class PhaseControl;
class Places;
struct Head;

/// A message as it is sent to another rank.
struct Outgoing {
  ElementId from;
  ElementId to;
  std::uint64_t step = no_step;
  PackedCall call;
};

/// The function from which all ranks count addresses: methods travel as distances in the code.
void origin_of_methods();

/// Brings messages to elements: to those here, to other ranks, and those that arrive from there.
///
/// Threads: workers and the thread that makes progress; between phases, the collection's.
class Mailroom {
 public:
  struct Parts {
    ElementTable& table;
    Places& places;
    News& news;
    Links& links;
    ElementCalls& calls;
    PhaseControl& phase;
  };
  Mailroom(const CollectionInfo& info, const Parts& parts);

  [[nodiscard]] const CollectionInfo& info() const noexcept { return info_; }

  // ---- from tasks of elements ----
  [[nodiscard]] Route route(ElementId to);
  /// Memory for a packed message, with room for the head; until the next call for this worker.
  [[nodiscard]] Bytes& buffer(WorkerId worker);
  /// `buffer`: room for the head, and the packed arguments.
  void post(Rank to, const Outgoing& mail, Bytes& buffer);
  /// Notes for the loads how many bytes went from one element to another.
  static void note_sent(Element& from, ElementId to, std::size_t bytes);
  /// To an element here, or to one that no rank knows. `worker`: of the calling task; none: outside of tasks.
  void deliver(const Route& route, ElementId to, Mail& mail, WorkerId worker);
  /// Takes over an element that begins to exist in this phase. Throws: `Error` with `bad_argument` for a used id.
  void create(ElementId id, Element& element, WorkerId worker);
  /// Sends a message that erases the element.
  void send_erase(ElementId id, const Element& sender, WorkerId worker);

  // ---- for the engine ----
  /// A message from another rank.
  void take(const Head& head, std::span<const std::byte> rest);
  /// At the home of an element: it was created on rank `at`.
  void take_created(ElementId id, Rank at);
  /// What was sent since the last call.
  void report(PhaseReport& report) noexcept;

  /// Bytes before the arguments of a packed message.
  static constexpr std::size_t head_bytes = 56;

 private:
  struct Traffic {
    std::atomic<std::uint64_t> sent = 0;
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<std::uint64_t> forwarded = 0;
    std::atomic<std::uint64_t> forwarded_again = 0;
  };
  struct alignas(64) Buffer {
    Bytes bytes;
  };

  const CollectionInfo& info_;
  const Parts parts_;
  Traffic traffic_;
  std::vector<Buffer> buffers_;  ///< By worker.
};

}  // namespace plait::data::detail
