// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/coroutine.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/request.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/particles/domains/rank_blocks.hpp"

namespace plait::particles {

/// A summary in bytes, aligned to 8.
using SummaryRow = std::span<const std::byte>;

/// The meaning of the summaries that ranks exchange. A block of ranks has a summary of the same form as a rank.
///
/// Threads: called by one at a time, any that makes progress.
class SummaryRules {
 public:
  SummaryRules() = default;
  SummaryRules(const SummaryRules&) = delete;
  SummaryRules& operator=(const SummaryRules&) = delete;
  virtual ~SummaryRules() = default;

  /// The size of a row, a multiple of 8.
  [[nodiscard]] virtual std::size_t row_bytes() const noexcept = 0;
  /// Writes the summary of a block: `parts` are the rows of its parts, one after the other.
  virtual void join(SummaryRow parts, std::span<std::byte> block) const = 0;
  /// Stores for each row of `others` whether it and `one` need more of each other than their summaries. Symmetric: the
  /// result is the same if both are exchanged, bit for bit.
  virtual void find_near(SummaryRow one, SummaryRow others, std::span<std::uint8_t> are_near) const = 0;
  /// Whether `receiver`, and all within it, needs nothing but the summary of `sender`.
  [[nodiscard]] virtual bool suffices(SummaryRow sender, SummaryRow receiver) const = 0;
};

/// The cost of exchanges on one rank, since the start.
struct SummaryCounts {
  std::uint64_t exchanges = 0;
  std::uint64_t messages = 0;  ///< Sent, without those of the gather among the blocks of the last level.
  std::uint64_t bytes = 0;     ///< In these messages.
  std::uint64_t tests = 0;     ///< Pairs of rows that were compared.
  std::uint64_t rows = 0;      ///< Received for this rank, and for the blocks that it leads.
};

/// Finds the ranks that are near to this one, and summaries of all others: of far ranks alone, of ranks that are
/// farther in blocks.
///
/// Summaries are joined up the levels of `RankBlocks`. The blocks of the last level gather those of all. Down the
/// levels, the leaders of near blocks exchange the summaries of their children; each child gets those that it needs.
/// Two ranks agree on whether they are near. Cost for each rank: a constant for each level, if each block has a bounded
/// number of near ones. Threads: one at a time; an exchange continues in any thread that makes progress.
class SummaryExchange {
 public:
  struct Options {
    /// So many summaries are gathered by all: those of all ranks if there are no more, else those of the blocks of the
    /// last level. A gather is faster than levels of messages as long as it is no ring of all ranks (512 KiB in all).
    std::uint32_t top_blocks_max = 2048;
    bool keeps_far = true;  ///< Otherwise `far_rows` is empty.
  };
  enum class Choice : std::uint8_t {
    made,  ///< By the present summaries.
    kept,  ///< That of the last exchange: the same ranks and blocks, with their present summaries.
  };

  /// Borrows `messages`; uses `comm` for messages with tags from `first_tag` on and for a collective. Expects: the
  /// grid fits the ranks.
  SummaryExchange(comm::Endpoint& messages, comm::CommId comm, const DomainGrid& grid, const Options& options);
  SummaryExchange(const SummaryExchange&) = delete;
  SummaryExchange& operator=(const SummaryExchange&) = delete;
  ~SummaryExchange() = default;

  static constexpr std::uint32_t first_tag = 0x100;  ///< Smaller tags are free for the owner of the communicator.

  /// Exchanges this rank's summary, of which a copy is made. `rules` are borrowed until the request is complete.
  /// Non-blocking and collective, with equal rules and choice on all ranks. Error: `network` for a message of a wrong
  /// size. Expects: a choice that is kept was made.
  [[nodiscard]] comm::Request exchange(SummaryRow mine, const SummaryRules& rules, Choice choice);

  // The results of the last exchange.

  [[nodiscard]] std::span<const Rank> near_ranks() const noexcept { return near_ranks_; }  ///< Without this one.
  [[nodiscard]] SummaryRow near_row(std::size_t i) const { return row(seats_.front().view.rows, i); }
  [[nodiscard]] std::size_t far_count() const noexcept { return far_count_; }
  [[nodiscard]] SummaryRow far_row(std::size_t i) const {
    return row(seats_.front().view.rows, near_ranks_.size() + i);
  }
  /// Whether far ranks may be joined in blocks.
  [[nodiscard]] bool has_blocks() const noexcept { return blocks_.top() > 0; }

  [[nodiscard]] comm::Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] const SummaryCounts& counts() const noexcept { return counts_; }

 private:
  /// The rows that one block gets of the others: those of near blocks of its level, then those of far blocks of any.
  struct View {
    std::vector<std::uint32_t> near;  ///< At a level above 0, the block itself among them.
    Bytes rows;
  };
  /// The part of a pool of rows that makes a view.
  struct Selection {
    std::vector<std::uint32_t> near;    ///< Block numbers.
    std::vector<std::uint32_t> places;  ///< In the pool: of near blocks, then of far ones.
  };
  /// A block that this rank leads; at level 0 the rank itself.
  struct Seat {
    std::size_t level = 0;
    std::uint32_t block = 0;
    Bytes row;
    Bytes children;  ///< Their rows.
    Bytes from_parent;
    View view;
    Bytes pool;          ///< At the last level first the rows of all blocks; then as `exchange_children` fills it.
    Selection of_block;  ///< At the last level.
    std::vector<Selection> of_children;
    std::vector<Bytes> to_children;
  };

  comm::AsyncOperation run(const SummaryRules& rules, Choice choice);
  comm::AsyncOperation collect(Seat& seat, const SummaryRules& rules);
  comm::AsyncOperation gather_top(Seat& seat, const SummaryRules& rules, Choice choice);
  void select_top(Seat& seat, const SummaryRules& rules);
  comm::AsyncOperation take_view(Seat& seat);
  void read_view(Seat& seat, Rank from);
  comm::AsyncOperation exchange_children(Seat& seat);
  void select_for_children(Seat& seat, const SummaryRules& rules);
  [[nodiscard]] Selection select(const Seat& seat, std::size_t number, std::uint32_t child, const SummaryRules& rules);
  void append_rows(const Bytes& pool, std::span<const std::uint32_t> places, Bytes& to) const;
  void send_to_children(Seat& seat);
  [[nodiscard]] SummaryRow row(const Bytes& rows, std::size_t i) const {
    return SummaryRow{rows}.subspan(i * row_bytes_, row_bytes_);
  }
  [[nodiscard]] Seat* seat_of(std::size_t level, std::uint32_t block);
  [[nodiscard]] comm::Address address(Rank rank, std::uint32_t kind, std::size_t level) const;
  void send(const comm::Address& to, std::span<const std::byte> data);

  comm::Endpoint& endpoint_;
  const comm::CommId comm_;
  const Options options_;
  const RankBlocks blocks_;
  std::optional<comm::Group> top_;  ///< The leaders of the last level, if this rank is one.
  std::vector<Seat> seats_;         ///< By level, ascending; the first is that of the rank itself.
  std::size_t row_bytes_ = 0;
  std::vector<comm::Request> sends_;
  std::vector<Rank> near_ranks_;
  std::size_t far_count_ = 0;
  SummaryCounts counts_;
};

}  // namespace plait::particles
