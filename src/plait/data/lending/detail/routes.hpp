// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/lending/lend_settings.hpp"

namespace plait::data::detail {

/// The ranks with which this rank shares pieces.
///
/// After elements have moved, each rank reports their location to their parents. No rank stores all locations. Threads:
/// one at a time.
class Routes {
 public:
  /// The elements that this rank shares with another one. Both have `ids` in rising order.
  struct Peer {
    Rank rank;
    std::vector<ElementId> ids;
  };

  /// Claims communicators. `owned`: elements whose pieces are on this rank. Throws: `Error` with `bad_argument` for one
  /// that is named twice.
  Routes(comm::Endpoint& endpoint, std::vector<ElementId> owned);

  /// Exchanges the locations of elements. Collective. `here`: those of this rank, with the ranks of their pieces.
  ///
  /// Throws: `Error` with `bad_argument` when elements and pieces do not match one to one. Cost: a sum over all ranks,
  /// and a message to each rank that has pieces of elements here.
  void settle(std::vector<ElementPlace> here);

  /// Ranks that have the pieces of elements here.
  [[nodiscard]] const std::vector<Peer>& parents() const noexcept { return parents_; }
  /// Ranks that have elements of pieces here.
  [[nodiscard]] const std::vector<Peer>& borrowers() const noexcept { return borrowers_; }
  /// Pieces of this rank whose elements are here.
  [[nodiscard]] const std::vector<ElementId>& at_home() const noexcept { return at_home_; }
  /// For messages of pieces, from their parents and back to them.
  [[nodiscard]] comm::CommId lend_comm() const { return comms_[1]; }
  [[nodiscard]] comm::CommId return_comm() const { return comms_[2]; }

 private:
  [[nodiscard]] std::vector<ElementPlace> receive_places();

  comm::Endpoint& endpoint_;
  comm::Group all_;
  comm::ClaimedComms comms_;
  std::vector<ElementId> owned_;  ///< Rising.
  std::vector<ElementId> at_home_;
  std::vector<Peer> parents_;
  std::vector<Peer> borrowers_;
};

}  // namespace plait::data::detail
