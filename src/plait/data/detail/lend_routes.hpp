// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/request.hpp"
#include "plait/data/element.hpp"

namespace plait::data {

/// What a lender has done on this rank since it was made.
struct LendTotals {
  std::uint64_t wrapped = 0;  ///< Pieces of elements on their parent's rank, each time they were lent.
  std::uint64_t sent = 0;     ///< Pieces that left as a copy, in either direction.
  std::uint64_t bytes = 0;    ///< Of these.
  std::uint64_t settled = 0;  ///< How often elements had moved since the time before.
};

namespace detail {

/// An accessor for pieces whose type only the template above knows.
struct PiecePart {
  std::string_view accessor;
  std::string_view type;
  std::size_t (*size)(const void* piece);
  /// Answers how much it wanted to write.
  std::size_t (*pack)(const void* piece, std::span<std::byte> place);
  void (*unpack)(std::span<const std::byte> from, void* piece);
};

/// The work of a `Lender`: which pieces travel between this rank and which others, and the messages that carry them.
///
/// One message carries all that goes from one rank to another; its buffers are kept from one time to the next. Threads:
/// one at a time.
class LendRoutes {
 public:
  /// An element, and the rank where it is or whose piece it has.
  struct Place {
    ElementId id;
    Rank rank;

    friend bool operator==(const Place&, const Place&) = default;
  };
  /// What this rank shares with another one. Both have `ids` in the same order.
  struct Peer {
    Rank rank;
    std::vector<ElementId> ids;
    std::vector<void*> pieces;  ///< One for each of `ids`; set by the user.
    Bytes outgoing;
    Bytes incoming;
    comm::Request sent;
    comm::Request received;
    bool has_arrived = true;
  };
  enum class Side { parents, borrowers };

  /// `here` finds the elements of this rank that have a parent, and their parents.
  LendRoutes(comm::Endpoint& endpoint, std::function<std::vector<Place>()> here);
  LendRoutes(const LendRoutes&) = delete;
  LendRoutes& operator=(const LendRoutes&) = delete;
  LendRoutes(LendRoutes&&) = delete;
  LendRoutes& operator=(LendRoutes&&) = delete;
  /// Messages under way keep their buffers.
  ~LendRoutes();

  /// The pieces of this rank. Throws: `Error` with `bad_argument` when an id occurs twice.
  void set_owned(std::vector<ElementId> ids);

  /// Collective. When elements have moved on any rank, tells their parents where they are, and answers true: all pieces
  /// of `peers` must then be set. Throws: `Error` with `bad_argument` when lent already, or when pieces and elements do
  /// not match one to one.
  [[nodiscard]] bool begin_to_lend();
  /// Throws: `Error` with `bad_argument` when nothing is lent, or elements have moved since.
  void begin_to_give_back();

  /// Ranks whose pieces belong to elements here; ranks that have elements of pieces here.
  [[nodiscard]] std::vector<Peer>& peers(Side side) noexcept { return state_->peers[static_cast<std::size_t>(side)]; }
  /// Pieces of this rank whose elements are here.
  [[nodiscard]] const std::vector<ElementId>& at_home() const noexcept { return at_home_; }

  /// Posts receives from one side, then packs for the other side and sends.
  void start(Side to, const PiecePart& part);
  /// Unpacks what `start` expects as it comes. Returns when all has come, and what was sent has left.
  void finish(Side to, const PiecePart& part);

  [[noreturn]] static void throw_not_here(ElementId id);
  [[nodiscard]] const LendTotals& totals() const noexcept { return totals_; }

 private:
  enum class Phase { at_home, lending, lent, returning };
  /// Goes to the endpoint when a failed run leaves messages under way.
  struct State {
    std::vector<Peer> peers[2];
  };

  void settle();
  [[nodiscard]] std::vector<Place> hear_of_moved();
  void pack(Peer& peer, const PiecePart& part);
  void unpack(const Peer& peer, const PiecePart& part);
  void take_arrived(std::vector<Peer>& from, const PiecePart& part, std::size_t& open);
  template <class Act>
  void or_stop_all(Act act);

  comm::Endpoint& endpoint_;
  comm::Group all_;
  Tag tag_;
  std::function<std::vector<Place>()> find_here_;
  std::vector<ElementId> owned_;  ///< Ascending.
  std::vector<Place> here_;       ///< As the parents know it.
  std::vector<ElementId> at_home_;
  Phase phase_ = Phase::at_home;
  std::shared_ptr<State> state_;
  LendTotals totals_;
};

}  // namespace detail
}  // namespace plait::data
