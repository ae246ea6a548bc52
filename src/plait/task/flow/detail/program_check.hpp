// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/flow/detail/submission_log.hpp"

namespace plait::task::detail {

/// Checks that all ranks submit the same program, and detects when all have ended it.
///
/// Each rank periodically reports its number of submissions and its chain of hashes to rank 0, which reports to all.
/// The rank that is further finds the other's number in its own log. If the chains differ, it sends its own to the
/// other, which answers what it has submitted at the first difference. A rank reports before it waits, so that of two
/// ranks that wait for each other one knows. Threads: the submitting one.
class ProgramCheck final : comm::Completion {
 public:
  /// Borrows its arguments.
  ProgramCheck(comm::Endpoint& endpoint, comm::CommId comm, const SubmissionLog& log);
  ProgramCheck(const ProgramCheck&) = delete;
  ProgramCheck& operator=(const ProgramCheck&) = delete;
  ~ProgramCheck() override;

  /// Reports how far this rank is, unless it has been reported.
  void report();
  /// Reports that this rank has ended all that is submitted. It submits nothing until all ranks have.
  void report_end();
  [[nodiscard]] bool have_all_ended() const noexcept { return ended_number_ == log_.count(); }

  /// Takes no further message. To be called before the endpoint ends.
  void stop() noexcept;

  /// Acts on messages that have arrived. Throws: `Error` that names the first difference, if any.
  void poll();

 private:
  class Outbox;
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

  void completed(const comm::Status& status) noexcept override { status_ = status; }
  void released(const comm::Status& status) noexcept override;

  void post();
  void send(Rank to, const Head& head, std::span<const std::byte> more = {});
  void send_to_others(const Head& head);
  void act(Rank source, std::span<const std::byte> message);
  void compare(const Claim& claim);
  void compare_pending();
  void dispute(Rank source, std::uint64_t number);
  void answer(Rank source, const Head& head, std::span<const std::byte> chains);
  [[noreturn]] void differ(Rank source, std::uint64_t number, std::string_view theirs) const;

  comm::Endpoint& endpoint_;
  const comm::CommId comm_;
  const SubmissionLog& log_;
  std::uint64_t told_ = 0;
  std::uint64_t ended_number_ = 0;     ///< Up to here all ranks have ended.
  std::uint32_t ended_ranks_ = 0;      ///< Of rank 0: that have, up to the present number, itself included.
  std::vector<std::uint64_t> agreed_;  ///< By rank: up to where the chains are known to agree.
  std::vector<Claim> pending_;         ///< Of ranks that are further than this one.
  std::shared_ptr<Outbox> outbox_;

  Bytes buffer_;
  comm::Status status_;
  std::atomic<bool> has_come_ = false;
  comm::Request receive_;
  bool is_stopped_ = false;
};

}  // namespace plait::task::detail
