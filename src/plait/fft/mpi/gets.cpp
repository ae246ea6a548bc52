// SPDX-License-Identifier: Apache-2.0
// CrB, CrN, CsB, CsN, CoM and SHM: blocks are in a window, from which their receivers fetch them.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/fft/mpi/detail/exchanges.hpp"
#include "plait/net/mpi/window.hpp"

namespace plait::fft::mpi {

namespace {

/// A window whose memory begins at a cache line. The endpoint makes no MPI calls during its creation and destruction.
class HeldWindow {
 public:
  HeldWindow(const Members& members, std::size_t bytes, net::Window::Kind kind) : members_{members} {
    const auto held = members.calls();
    window_.emplace(members.world(), members.comm(), bytes + detail::cache_line_bytes, kind);
    const auto address = std::bit_cast<std::uintptr_t>(window_->memory().data());
    shift_ = (detail::cache_line_bytes - address % detail::cache_line_bytes) % detail::cache_line_bytes;
  }
  HeldWindow(const HeldWindow&) = delete;
  HeldWindow& operator=(const HeldWindow&) = delete;
  ~HeldWindow() {
    const auto held = members_.last_calls();
    window_.reset();
  }
  const net::Window* operator->() const { return &*window_; }
  [[nodiscard]] std::span<std::byte> part(const detail::Places& places, std::size_t block) const {
    return window_->memory().subspan(shift_ + places.offset[block], places.length[block]);
  }
  /// The offset of the block for this rank in the window of each member. Collective over the group.
  [[nodiscard]] std::vector<std::uint64_t> places_at_others(const detail::Places& own) const {
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

/// The blocks to send are written into a window: there is no copy before others fetch them.
class WindowExchange : public ReceivingExchange {
 public:
  WindowExchange(MembersPointer members, const BlockBytes& bytes, net::Window::Kind kind)
      : ReceivingExchange{std::move(members), bytes},
        to_places_{bytes.to},
        window_{*members_, to_places_.bytes, kind} {}

  [[nodiscard]] std::span<std::byte> to(std::size_t member) final { return window_.part(to_places_, member); }

 private:
  const detail::Places to_places_;

 protected:
  const HeldWindow window_;
  const std::vector<std::uint64_t> place_at_ = window_.places_at_others(to_places_);  ///< By member.
};

class Gets final : public WindowExchange {
 public:
  Gets(MembersPointer members, const BlockBytes& bytes, When when)
      : WindowExchange{std::move(members), bytes, net::Window::Kind::fetched}, when_{when} {
    for (const std::size_t member : net::random_order(members_->size(), members_->self())) {
      if (!received_[member].empty()) {
        order_.push_back(member);
      }
    }
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
    window_->get(received_[member], member, place_at_[member]);
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

  const When when_;
  std::vector<std::size_t> order_;  ///< Of the members that send to this rank.
  std::size_t begun_ = 0;
};

/// Messages pass in chunks through a window with two chunks for each member: the next is copied in while the other is
/// fetched. All ranks synchronise once per chunk.
class ChunkedGets final : public ReceivingExchange {
 public:
  ChunkedGets(MembersPointer members, const BlockBytes& bytes, std::size_t chunk_bytes)
      : ReceivingExchange{std::move(members), bytes},
        chunk_bytes_{chunk_bytes},
        sent_{detail::Places{bytes.to}},
        window_{*members_, 2 * members_->size() * chunk_bytes, net::Window::Kind::fetched},
        order_{net::random_order(members_->size(), members_->self())} {
    const auto held = members_->calls();
    std::uint64_t longest = std::ranges::max(sent_.places.length);
    MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_UINT64_T, MPI_MAX, members_->comm());
    block_bytes_max_ = longest;
  }

  [[nodiscard]] std::span<std::byte> to(std::size_t member) override { return sent_[member]; }

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
  /// A block from byte `at`, at most one chunk.
  [[nodiscard]] std::span<std::byte> chunk(std::span<std::byte> block, std::size_t at) const {
    return at < block.size() ? block.subspan(at, std::min(chunk_bytes_, block.size() - at)) : std::span<std::byte>{};
  }
  [[nodiscard]] std::size_t place(std::size_t member, std::size_t slot) const {
    return (slot * members_->size() + member) * chunk_bytes_;
  }
  void put_in(std::size_t at, std::size_t member, std::size_t slot) {
    if (const auto from = chunk(sent_[member], at); !from.empty()) {
      std::memcpy(window_->memory().data() + place(member, slot), from.data(), from.size());
    }
  }
  void fetch(std::size_t at, std::size_t member, std::size_t slot) {
    if (const auto to = chunk(received_[member], at); !to.empty()) {
      window_->get(to, member, place(members_->self(), slot));
    }
  }

  const std::size_t chunk_bytes_;
  const detail::Blocks sent_;
  const HeldWindow window_;
  const std::vector<std::size_t> order_;
  std::size_t block_bytes_max_ = 0;  ///< Of the whole group: sets the number of synchronisations.
};

/// Every rank reads its blocks in the memory of their senders.
class SharedWindow final : public WindowExchange {
 public:
  SharedWindow(MembersPointer members, const BlockBytes& bytes)
      : WindowExchange{std::move(members), bytes, net::Window::Kind::shared} {}

  void start() override {
    const auto held = members_->calls();
    window_->synchronise();
    for (std::size_t step = 0; step < members_->size(); ++step) {
      const std::size_t member = (members_->self() + step) % members_->size();
      if (const auto block = received_[member]; !block.empty()) {
        std::memcpy(block.data(), window_->memory_of(member) + place_at_[member], block.size());
      }
    }
    window_->synchronise();
  }
  void wait() override {}
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
