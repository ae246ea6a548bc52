// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/task/flow/detail/check_messages.hpp"
#include "plait/task/flow/detail/submission_log.hpp"

namespace plait::task::detail {

/// Checks that all ranks submit the same program, and detects when all have ended it.
///
/// Each rank periodically reports its number of submissions and its chain of hashes to rank 0, which reports to all.
/// The rank that is further finds the other's number in its own log. If the chains differ, it sends its own to the
/// other, which answers what it has submitted at the first difference. A rank reports before it waits, so that of two
/// ranks that wait for each other one knows. Threads: the submitting one.
class ProgramCheck {
 public:
  /// Borrows its arguments.
  ProgramCheck(comm::Endpoint& endpoint, comm::CommId comm, const SubmissionLog& log);

  /// Reports how far this rank is, unless it has been reported.
  void report();
  /// Reports the last submission whose chain is kept for ever, unless it has been reported: a rank that is far ahead
  /// knows it, too.
  void report_checkpoint();
  /// Reports that this rank has ended all that is submitted. It submits nothing until all ranks have.
  void report_end();
  [[nodiscard]] bool have_all_ended() const noexcept { return ended_number_ == log_.count(); }

  /// Takes no further message. To be called before the endpoint ends.
  void stop() noexcept { messages_.stop(); }

  /// Acts on messages that have arrived. Throws: `Error` that names the first difference, if any.
  void poll();

 private:
  enum class Kind : std::uint32_t { reached, ended, all_ended, dispute, answer };
  struct Head {
    Kind kind;
    std::uint32_t reserved = 0;
    std::uint64_t number = 0;  ///< Of a submission.
    std::uint64_t chain = 0;   ///< After it; of a dispute: how many chains follow, that of `number` first.
  };
  struct Claim {
    Rank source;
    std::uint64_t number;
    std::uint64_t chain;
    bool has_ended;
  };

  void report_number(std::uint64_t number);
  void send(Rank to, const Head& head, std::span<const std::byte> more = {});
  void send_to_others(const Head& head);
  void act(Rank source, std::span<const std::byte> message);
  void compare(const Claim& claim);
  void compare_pending();
  void dispute(Rank source, std::uint64_t number);
  void answer(Rank source, const Head& head, std::span<const std::byte> chains);
  [[noreturn]] void differ(Rank source, std::uint64_t number, std::string_view theirs) const;

  comm::Endpoint& endpoint_;
  const SubmissionLog& log_;
  std::uint64_t reported_ = 0;
  std::uint64_t ended_number_ = 0;  ///< Up to here all ranks have ended.
  std::uint32_t ended_ranks_ = 0;   ///< Of rank 0: that have, up to the present number, itself included.
  std::unordered_map<Rank, std::uint64_t> agreed_;  ///< Up to where the chains are known to agree.
  std::vector<Claim> pending_;                      ///< Of ranks that are further than this one.
  CheckMessages messages_;
};

}  // namespace plait::task::detail
