// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "plait/base/id.hpp"

namespace plait::comm::detail {

/// What a member of the engine stores for each peer, from its first use on.
///
/// Entries are stored in pages of adjacent ranks, each from the first access to one of its entries. Memory: a pointer
/// for each page of the run, and the pages of the peers that were accessed. Threads: one at a time.
template <class Peer>
class PeerTable {
 public:
  /// Ranks of a page. Most ranks of a large run have few peers, at distances that are far apart.
  static constexpr std::uint32_t page_size = 16;

  /// `make(rank)` returns the entry of a peer that was not accessed before.
  PeerTable(std::uint32_t peer_count, std::function<Peer(Rank)> make)
      : peer_count_{peer_count},
        make_{std::move(make)},
        pages_((std::size_t{peer_count} + page_size - 1) / page_size) {}

  /// The entry of `peer`, which stays where it is. Expects: a rank of the run. Cost: the first access to a page
  /// creates it.
  [[nodiscard]] Peer& operator[](Rank peer) {
    Page& page = pages_[peer.value() / page_size];
    if (page == nullptr) [[unlikely]] {
      create(page, peer.value() / page_size * page_size);
    }
    return page[peer.value() % page_size];
  }

  /// Calls `visit` with each entry that is stored.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Page& page : pages_) {
      for (std::uint32_t index = 0; page != nullptr && index < page_size; ++index) {
        visit(page[index]);
      }
    }
  }

 private:
  using Page = std::unique_ptr<Peer[]>;

  [[gnu::noinline]] void create(Page& page, std::uint32_t first) {
    Page created = std::make_unique<Peer[]>(page_size);
    for (std::uint32_t index = 0; index < std::min(page_size, peer_count_ - first); ++index) {
      created[index] = make_(Rank{first + index});
    }
    page = std::move(created);
  }

  std::uint32_t peer_count_;
  std::function<Peer(Rank)> make_;
  std::vector<Page> pages_;
};

}  // namespace plait::comm::detail
