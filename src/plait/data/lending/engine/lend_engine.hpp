// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/data/collections/phase_gate.hpp"
#include "plait/data/lending/lend_settings.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data::detail {

/// An accessor for pieces whose type only `Lender` knows.
struct PiecePart {
  std::string_view accessor;
  std::string_view type;
  std::size_t (*size)(const void* piece);
  /// Returns how many bytes the accessor tried to write.
  std::size_t (*pack)(const void* piece, std::span<std::byte> place);
  void (*unpack)(std::span<const std::byte> from, void* piece);
};

/// A lender without the type of its pieces; `Lender` is the template above it.
///
/// One message has all pieces from one rank to another. A worker unpacks it when it has arrived; an element may start
/// as soon as its own piece is unpacked. A message of returned pieces is sent when the last of its elements has ended
/// its steps. Threads: one at a time; as a gate, those of phases.
class LendEngine final : public PhaseGate {
 public:
  /// To the elements, or back to the parents.
  enum class Direction : std::uint8_t { to_elements, to_parents };
  struct Callbacks {
    std::function<std::vector<ElementPlace>()> here;  ///< Elements of this rank that have a piece.
    std::function<std::uint64_t()> placement;         ///< `Elements::placement_version`.
    std::function<void*(ElementId)> own_piece;        ///< Of an element whose parent is this rank.
    std::function<void*(ElementId)> copy;             ///< Of an element here whose parent is elsewhere.
    /// Called when elements have moved: `borrowed` need copies here; elements of pieces `at_home` are here.
    std::function<void(const std::vector<ElementId>& borrowed, const std::vector<ElementId>& at_home)> use_pieces;
  };

  LendEngine(comm::Endpoint& endpoint,
             task::Scheduler& scheduler,
             trace::Recorder& recorder,
             std::vector<ElementId> owned,
             Callbacks callbacks);
  LendEngine(const LendEngine&) = delete;
  LendEngine& operator=(const LendEngine&) = delete;
  ~LendEngine();

  /// Throw: as `Lender::lend` and `Lender::give_back`.
  void lend(const PiecePart& part);
  void give_back(const PiecePart& part);
  [[nodiscard]] const LendTotals& totals() const noexcept;

  // ---- a transfer under way ----
  void wait(Direction direction);
  void wait(Direction direction, ElementId id);
  [[nodiscard]] bool is_ready(Direction direction, ElementId id) const;
  /// Null when no transfer was begun since the last wait.
  [[nodiscard]] task::Run* run(Direction direction) const noexcept;

  // ---- as a gate ----
  void begin_phase(std::uint64_t placement) override;
  [[nodiscard]] bool is_open(ElementId id) override;
  [[nodiscard]] bool enter(ElementId id, std::function<void()> open) override;
  void leave(ElementId id) override;

  /// Throws: `Error` with `bad_argument` unless the piece of an element may be used here.
  void throw_unless_ready(ElementId id) const;

 private:
  struct Members;
  std::shared_ptr<Members> members_;  ///< Shared with the endpoint when a failed run leaves messages under way.
};

}  // namespace plait::data::detail
