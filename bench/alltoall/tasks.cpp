// SPDX-License-Identifier: Apache-2.0
// PLT: the exchange and the work as one graph of tasks. Every block is cut into pieces; each piece is a message with
// its receive task, and its share of the work is a task after that. The rank's own block needs no message, and its
// tasks fill the time until the first piece has come. All shares together are exactly the work of the other variants.
// What comes is received where it is wanted, as with the others: the share stands for unpacking and computing.
#include <algorithm>
#include <cstring>

#include "plait/plait.hpp"

#include "alltoall/family.hpp"

namespace alltoall {

namespace {

class Tasks final : public Family {
 public:
  Tasks(const Group& group, const Settings& settings, plait::Runtime& runtime)
      : group_{group}, settings_{settings}, runtime_{runtime} {}

  void prepare(const Buffers& its_buffers) override {
    Family::prepare(its_buffers);
    graph_ = std::make_unique<plait::Graph>();
    // Within a node the processor does the copying: there is nothing to hide, and pieces only cost.
    pieces_ = group_.is_on_one_node() ? 1 : piece_count(settings_, its_buffers.block_bytes);
    own_pieces_ = own_piece_count(pieces_);
    // Piece by piece over all ranks, as all blocks arrive at once.
    for (std::size_t piece = 0; piece < pieces_; ++piece) {
      for (std::size_t step = 1; step < group_.size(); ++step) {
        add_exchange(piece, step);
      }
    }
    for (std::size_t piece = 0; piece < own_pieces_; ++piece) {
      add_own(piece);
    }
  }

  [[nodiscard]] bool uses_runtime() const noexcept override { return true; }
  void run(std::size_t /*member*/, Work& work) override {
    work_ = &work;
    runtime_.run(*graph_);
  }

 private:
  void add_exchange(std::size_t piece, std::size_t step) {
    const std::size_t source = (group_.self() + group_.size() - step) % group_.size();
    const std::size_t destination = (group_.self() + step) % group_.size();
    const auto [first, last] = part_of(buffers().block_bytes, piece, pieces_);
    const plait::Tag tag{(group_.direction() == Direction::row ? 1U : 2U) * 1000 + piece};
    plait::Task arrived = graph_->receive(
        "receive", {group_.world_ranks()[source], tag}, buffers().from(source).subspan(first, last - first));
    const std::span<const std::byte> outgoing = buffers().to(destination).subspan(first, last - first);
    graph_->send("send", {group_.world_ranks()[destination], tag}, [outgoing] { return outgoing; });
    graph_->task("work", [this, source, piece] { work_->run_part(source * pieces_ + piece, group_.size() * pieces_); })
        .after(arrived);
  }

  void add_own(std::size_t piece) {
    graph_->task("own", [this, piece] {
      const std::size_t self = group_.self();
      const auto [first, last] = part_of(buffers().block_bytes, piece, own_pieces_);
      std::memcpy(buffers().from(self).data() + first, buffers().to(self).data() + first, last - first);
      work_->run_part(self * own_pieces_ + piece, group_.size() * own_pieces_);
    });
  }

  const Group& group_;
  const Settings settings_;
  plait::Runtime& runtime_;
  std::unique_ptr<plait::Graph> graph_;
  std::size_t pieces_ = 1;      ///< Of each block that is a message.
  std::size_t own_pieces_ = 1;  ///< Of the rank's own block.
  Work* work_ = nullptr;
};

}  // namespace

std::size_t piece_count(const Settings& settings, std::size_t block_bytes) {
  return std::clamp<std::size_t>(block_bytes / settings.piece_bytes_min, 1, settings.piece_count_max);
}

std::size_t own_piece_count(std::size_t pieces) {
  constexpr std::size_t finer = 4;
  return pieces == 1 ? 1 : finer * pieces;
}

std::unique_ptr<Family> make_tasks(const Group& group, const Settings& settings, plait::Runtime& runtime) {
  return std::make_unique<Tasks>(group, settings, runtime);
}

}  // namespace alltoall
