// SPDX-License-Identifier: Apache-2.0
// CrB, CrN, CsB, CsN, CoM and SHM: blocks stand in a window, and those that they are for fetch them.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/fft/mpi/blocks.hpp"
#include "plait/fft/mpi/exchanges.hpp"
#include "plait/net/mpi/window.hpp"

namespace plait::fft::mpi {

namespace {

/// A window whose memory begins with a cache line, made and ended while the endpoint keeps out of MPI.
class HeldWindow {
 public:
  HeldWindow(const Members& members, std::size_t bytes, net::Window::Kind kind = net::Window::Kind::fetched)
      : members_{members} {
    const auto held = members.calls();
    window_.emplace(members.world(), members.comm(), bytes + Places::alignment, kind);
    const auto address = std::bit_cast<std::uintptr_t>(window_->memory().data());
    shift_ = (Places::alignment - address % Places::alignment) % Places::alignment;
  }
  HeldWindow(const HeldWindow&) = delete;
  HeldWindow& operator=(const HeldWindow&) = delete;
  HeldWindow(HeldWindow&&) = delete;
  HeldWindow& operator=(HeldWindow&&) = delete;
  ~HeldWindow() {
    const auto held = members_.last_calls();
    window_.reset();
  }
  const net::Window* operator->() const { return &*window_; }
  [[nodiscard]] std::span<std::byte> part(const Places& places, std::size_t block) const {
    return window_->memory().subspan(shift_ + places.offset[block], places.length[block]);
  }
  /// Of each member, where in its window the block for this rank stands. Collective over the group.
  [[nodiscard]] std::vector<std::uint64_t> places_at_others(const Places& own) const {
    std::vector<std::uint64_t> mine;
    for (const std::size_t offset : own.offset) {
      mine.push_back(shift_ + offset);
    }
    std::vector<std::uint64_t> theirs(mine.size());
    const auto held = members_.calls();
    MPI_Alltoall(mine.data(), 1, MPI_UINT64_T, theirs.data(), 1, MPI_UINT64_T, members_.comm());
    return theirs;
  }

 private:
  const Members& members_;
  std::size_t shift_ = 0;
  std::optional<net::Window> window_;
};

/// The blocks to send are written into the window itself: nothing is copied before it is fetched.
class Gets final : public Exchange {
 public:
  Gets(MembersPointer members, const BlockBytes& bytes, When when)
      : members_{std::move(members)},
        when_{when},
        to_places_{bytes.to},
        from_places_{bytes.from},
        from_memory_{from_places_.bytes},
        window_{*members_, to_places_.bytes} {
    for (const std::size_t member : net::random_order(members_->size(), members_->self())) {
      if (from_places_.length[member] > 0) {
        order_.push_back(member);
      }
    }
    place_at_ = window_.places_at_others(to_places_);
  }

  [[nodiscard]] std::span<std::byte> to(std::size_t member) override { return window_.part(to_places_, member); }
  [[nodiscard]] std::span<const std::byte> from(std::size_t member) override {
    return from_memory_.part(from_places_, member);
  }

  void start() override {
    const auto held = members_->calls();
    window_->synchronise();
    begun_ = 0;
    if (when_ != When::in_advance) {
      begin_all();
    }
    if (when_ == When::at_once) {
      end();
    }
  }
  void advance() override {
    if (when_ == When::in_advance && begun_ < order_.size()) {
      const auto held = members_->calls();
      begin_next();
    }
  }
  void wait() override {
    if (when_ != When::at_once) {
      const auto held = members_->calls();
      begin_all();
      end();
    }
  }

 private:
  void begin_next() {
    const std::size_t member = order_[begun_++];
    window_->get(from_memory_.part(from_places_, member), member, place_at_[member]);
  }
  void begin_all() {
    while (begun_ < order_.size()) {
      begin_next();
    }
  }
  void end() {
    window_->flush();
    window_->synchronise();  // from here on the window may be written again
  }

  const MembersPointer members_;
  const When when_;
  const Places to_places_;
  const Places from_places_;
  const AlignedBytes from_memory_;
  const HeldWindow window_;
  std::vector<std::size_t> order_;       ///< Of the members that have something for this rank.
  std::vector<std::uint64_t> place_at_;  ///< By member.
  std::size_t begun_ = 0;
};

/// Messages pass in chunks through a window with two of them for each member: the next ones are copied in while these
/// are fetched, and all wait for all once a chunk.
class ChunkedGets final : public Exchange {
 public:
  ChunkedGets(MembersPointer members, const BlockBytes& bytes, std::size_t chunk_bytes)
      : members_{std::move(members)},
        chunk_bytes_{chunk_bytes},
        to_places_{bytes.to},
        from_places_{bytes.from},
        to_memory_{to_places_.bytes},
        from_memory_{from_places_.bytes},
        window_{*members_, 2 * members_->size() * chunk_bytes},
        order_{net::random_order(members_->size(), members_->self())} {
    const auto held = members_->calls();
    std::uint64_t longest = std::ranges::max(to_places_.length);
    MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_UINT64_T, MPI_MAX, members_->comm());
    block_bytes_max_ = longest;
  }

  [[nodiscard]] std::span<std::byte> to(std::size_t member) override { return to_memory_.part(to_places_, member); }
  [[nodiscard]] std::span<const std::byte> from(std::size_t member) override {
    return from_memory_.part(from_places_, member);
  }

  void start() override {
    const auto held = members_->calls();
    for (std::size_t member = 0; member < members_->size(); ++member) {
      put_in(0, member, 0);
    }
    window_->synchronise();
    std::size_t slot = 0;
    for (std::size_t at = 0; at < block_bytes_max_; at += chunk_bytes_, slot = 1 - slot) {
      for (std::size_t index = 0; index < order_.size(); ++index) {
        fetch(at, order_[index], slot);
        put_in(at + chunk_bytes_, index, 1 - slot);
      }
      window_->flush();
      window_->synchronise();
    }
  }
  void wait() override {}

 private:
  /// What there is of a block from `at` on, one chunk at most.
  [[nodiscard]] std::size_t length_of(const Places& places, std::size_t member, std::size_t at) const {
    return at < places.length[member] ? std::min(chunk_bytes_, places.length[member] - at) : 0;
  }
  [[nodiscard]] std::size_t place(std::size_t member, std::size_t slot) const {
    return (slot * members_->size() + member) * chunk_bytes_;
  }
  void put_in(std::size_t at, std::size_t member, std::size_t slot) {
    if (const std::size_t length = length_of(to_places_, member, at); length > 0) {
      std::memcpy(window_->memory().data() + place(member, slot), to(member).data() + at, length);
    }
  }
  void fetch(std::size_t at, std::size_t member, std::size_t slot) {
    if (const std::size_t length = length_of(from_places_, member, at); length > 0) {
      window_->get(from_memory_.part(from_places_, member).subspan(at, length), member, place(members_->self(), slot));
    }
  }

  const MembersPointer members_;
  const std::size_t chunk_bytes_;
  const Places to_places_;
  const Places from_places_;
  const AlignedBytes to_memory_;
  const AlignedBytes from_memory_;
  const HeldWindow window_;
  const std::vector<std::size_t> order_;
  std::size_t block_bytes_max_ = 0;  ///< Of the whole group: how often all wait for all.
};

/// Every rank reads its blocks where others wrote them.
class SharedWindow final : public Exchange {
 public:
  SharedWindow(MembersPointer members, const BlockBytes& bytes)
      : members_{std::move(members)},
        to_places_{bytes.to},
        from_places_{bytes.from},
        from_memory_{from_places_.bytes},
        window_{*members_, to_places_.bytes, net::Window::Kind::shared} {
    place_at_ = window_.places_at_others(to_places_);
  }

  [[nodiscard]] std::span<std::byte> to(std::size_t member) override { return window_.part(to_places_, member); }
  [[nodiscard]] std::span<const std::byte> from(std::size_t member) override {
    return from_memory_.part(from_places_, member);
  }

  void start() override {
    const auto held = members_->calls();
    window_->synchronise();
    for (std::size_t step = 0; step < members_->size(); ++step) {
      const std::size_t member = (members_->self() + step) % members_->size();
      if (const auto block = from_memory_.part(from_places_, member); !block.empty()) {
        std::memcpy(block.data(), window_->memory_of(member) + place_at_[member], block.size());
      }
    }
    window_->synchronise();
  }
  void wait() override {}

 private:
  const MembersPointer members_;
  const Places to_places_;
  const Places from_places_;
  const AlignedBytes from_memory_;
  const HeldWindow window_;
  std::vector<std::uint64_t> place_at_;  ///< By member.
};

}  // namespace

std::unique_ptr<Exchange> make_gets(MembersPointer members, const BlockBytes& bytes, When when) {
  return std::make_unique<Gets>(std::move(members), bytes, when);
}

std::unique_ptr<Exchange> make_chunked_gets(MembersPointer members, const BlockBytes& bytes, std::size_t chunk_bytes) {
  return std::make_unique<ChunkedGets>(std::move(members), bytes, chunk_bytes);
}

std::unique_ptr<Exchange> make_shared_window(MembersPointer members, const BlockBytes& bytes) {
  int is_shared = members->is_on_one_node() ? 1 : 0;
  {
    const auto held = members->calls();
    MPI_Allreduce(MPI_IN_PLACE, &is_shared, 1, MPI_INT, MPI_MIN, members->world());
  }
  if (is_shared == 0) {
    throw Error{ErrorCode::network, "the ranks of a group do not share a node, so they can share no window (SHM)"};
  }
  return std::make_unique<SharedWindow>(std::move(members), bytes);
}

}  // namespace plait::fft::mpi
