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

struct Head;

/// A message as it is sent to another rank.
struct Outgoing {
  ElementId from;
  ElementId to;
  std::uint64_t step = no_step;
  PackedCall call;
  WorkerId worker{};  ///< Of the task that sends it, if any.
};

/// The function from which all ranks count addresses: methods travel as distances in the code.
void origin_of_methods();

/// Routes messages to elements of this rank and of others, and those that arrive from other ranks.
///
/// Threads: workers and the thread that makes progress; between phases, the collection's.
class Mailroom {
 public:
  explicit Mailroom(const EngineParts& parts);

  [[nodiscard]] const CollectionInfo& info() const noexcept { return info_; }

  // ---- from tasks of elements ----
  [[nodiscard]] Route route(ElementId to);
  /// Returns memory for a packed message, with room for the head. Valid until the next call for this worker.
  [[nodiscard]] Bytes& buffer(WorkerId worker);
  /// Sends a message to another rank. `buffer`: room for the head, and the packed arguments.
  void post(Rank to, const Outgoing& mail, Bytes& buffer);
  /// Adds to the loads how many bytes one element has sent to another.
  static void note_sent(Element& from, ElementId to, std::size_t bytes);
  /// Delivers to an element here, or keeps a message to one that no rank knows. `worker`: of the calling task, if any.
  void deliver(const Route& route, ElementId to, Mail& mail, WorkerId worker);
  /// Takes over an element that is created in this phase. Throws: `Error` with `bad_argument` for a used id.
  void create(ElementId id, Element& element, WorkerId worker);
  /// Sends a message that erases the element.
  void send_erase(ElementId id, const Element& sender, WorkerId worker);

  // ---- for the engine ----
  /// Takes a message from another rank.
  void take(const Head& head, std::span<const std::byte> rest);
  /// Notes, at the home of an element, that it was created on rank `at`.
  void take_created(ElementId id, Rank at);
  /// Reports what was sent since the last call.
  void report(PhaseReport& report) noexcept;

  /// The bytes before the arguments of a packed message.
  static constexpr std::size_t head_bytes = 64;

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

  const EngineParts& parts_;
  const CollectionInfo& info_;
  Traffic traffic_;
  std::vector<Buffer> buffers_;  ///< By worker.
};

}  // namespace plait::data::detail
