// SPDX-License-Identifier: Apache-2.0
// CoM and CoM2: messages cut into small chunks, which pass through a small window. CoM copies a chunk for every rank,
// lets all fetch theirs in random order, and waits for all, twice a chunk. CoM2 has two such buffers and copies the
// next chunk between the gets of this one, so that it waits once a chunk. Both are blocking: the work comes after.
#include <algorithm>
#include <cstring>

#include "alltoall/family.hpp"

namespace alltoall {

namespace {

enum class Buffering : std::size_t { single, twofold };

class ChunkedGets final : public Family {
 public:
  ChunkedGets(const Group& group, const Settings& settings)
      : group_{group},
        chunk_bytes_{std::min(settings.chunk_bytes, settings.block_bytes_max)},
        order_{random_order(group)},
        window_{make_window(group, 2 * group.size() * chunk_bytes_)} {}

  void run(std::size_t member, Work& work) override {
    switch (Buffering{member}) {
      case Buffering::single:
        one_after_the_other();
        break;
      case Buffering::twofold:
        next_while_fetching();
        break;
    }
    work.run_all();
  }

 private:
  void one_after_the_other() {
    for (std::size_t at = 0; at < buffers().block_bytes; at += chunk_bytes_) {
      for (std::size_t rank = 0; rank < group_.size(); ++rank) {
        put_in(at, rank, 0);
      }
      window_->synchronise();
      for (const std::size_t rank : order_) {
        fetch(at, rank, 0);
      }
      window_->flush();
      window_->synchronise();
    }
  }

  void next_while_fetching() {
    for (std::size_t rank = 0; rank < group_.size(); ++rank) {
      put_in(0, rank, 0);
    }
    window_->synchronise();
    std::size_t slot = 0;
    for (std::size_t at = 0; at < buffers().block_bytes; at += chunk_bytes_, slot = 1 - slot) {
      const std::size_t next = at + chunk_bytes_;
      for (std::size_t index = 0; index < order_.size(); ++index) {
        fetch(at, order_[index], slot);
        if (next < buffers().block_bytes) {
          put_in(next, index, 1 - slot);
        }
      }
      window_->flush();
      window_->synchronise();
    }
  }

  [[nodiscard]] std::size_t length(std::size_t at) const { return std::min(chunk_bytes_, buffers().block_bytes - at); }
  [[nodiscard]] std::size_t place(std::size_t rank, std::size_t slot) const {
    return (slot * group_.size() + rank) * chunk_bytes_;
  }
  void put_in(std::size_t at, std::size_t rank, std::size_t slot) {
    std::memcpy(window_->memory().data() + place(rank, slot), buffers().to(rank).data() + at, length(at));
  }
  void fetch(std::size_t at, std::size_t rank, std::size_t slot) {
    window_->get(buffers().from(rank).subspan(at, length(at)), rank, place(group_.self(), slot));
  }

  const Group& group_;
  std::size_t chunk_bytes_;
  std::vector<std::size_t> order_;
  std::unique_ptr<plait::net::Window> window_;
};

}  // namespace

std::unique_ptr<Family> make_chunked_gets(const Group& group, const Settings& settings, plait::Runtime& /*runtime*/) {
  return std::make_unique<ChunkedGets>(group, settings);
}

}  // namespace alltoall
