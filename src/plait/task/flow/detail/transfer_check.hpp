// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/task/flow/detail/check_messages.hpp"
#include "plait/task/flow/detail/data_store.hpp"
#include "plait/task/flow/detail/transfer.hpp"

namespace plait::task::detail {

/// Checks that ranks that submit only their own tasks agree: each value that a rank sends is read where it is sent to,
/// and each value that a rank reads is sent to it.
///
/// Each rank counts the values to and from each other rank, with a sum of hashes, which has no order. When it has
/// submitted all up to a wait, it sends these to the ranks concerned. Where they differ, one rank sends its list to the
/// other, which throws the error with the first difference. A rank that waits in the midst of its program asks ranks
/// that have submitted all whether the values that it waits for are sent. Threads: the submitting one. Cost: some ten
/// nanoseconds a value and rank, and at each wait one message to each rank with which there are values.
class TransferCheck {
 public:
  /// Values since the last wait whose names are kept for errors.
  static constexpr std::size_t kept = 4096;

  /// Borrows its arguments.
  TransferCheck(comm::Endpoint& endpoint, comm::CommId comm, const DataStore& data);

  /// Notes that this rank sends a value.
  void sends(const Transfer& transfer);
  /// Notes that this rank reads a value of another.
  void reads(const Transfer& transfer);
  /// Sends the sums to the ranks concerned: this rank submits nothing until all ranks have ended.
  void report();
  /// Returns whether all ranks concerned have reported the same.
  [[nodiscard]] bool has_matched() const noexcept { return unmatched_ == 0; }
  /// Asks the ranks that own it whether they send what this rank waits for; each answers when it has submitted all.
  void ask(std::span<const Transfer> missing);
  /// Starts again, when all ranks have ended.
  void begin_epoch();

  /// Acts on messages that have arrived. Throws: `Error` that names the first difference, if any.
  void poll();
  /// Takes no further message. To be called before the endpoint ends.
  void stop() noexcept { messages_.stop(); }

 private:
  enum class Kind : std::uint32_t { sums, sent_list, read_list, question };
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t hashes = 0;
    friend bool operator==(const Sum&, const Sum&) = default;
  };
  struct Head {
    Kind kind;
    std::uint32_t is_complete = 1;  ///< Of a list.
    std::uint64_t epoch = 0;
    Sum sent;
    Sum read;
  };
  struct Peer {
    Sum sent;
    Sum read;
    std::optional<Head> reported;
  };
  struct Kept {
    Transfer transfer;
    bool is_sent;
  };

  void note(const Transfer& transfer, bool is_sent);
  void send(Rank to, Head head, std::span<const Tag> values = {});
  void act(const CheckMessages::Arrived& message);
  void compare(Rank source, Peer& peer);
  [[nodiscard]] std::vector<Tag> values_with(Rank peer, bool is_sent) const;
  [[nodiscard]] bool keeps_all() const noexcept { return noted_ <= kept; }
  void differ(Rank source, const Head& head, std::vector<Tag> theirs) const;
  void answer(Rank source, std::span<const Tag> missing) const;
  [[noreturn]] void throw_difference(Rank sender, std::vector<Tag> sent, Rank reader, std::vector<Tag> read) const;
  [[nodiscard]] std::string name_of(Tag value) const;

  comm::Endpoint& endpoint_;
  const DataStore& data_;
  std::uint64_t epoch_ = 0;
  bool has_reported_ = false;
  std::size_t unmatched_ = 0;  ///< Of the ranks concerned, when this rank has reported.
  std::unordered_map<Rank, Peer> peers_;
  std::uint64_t noted_ = 0;                               ///< Since the last wait.
  std::vector<Kept> notes_;                               ///< The last of them.
  std::unordered_map<Rank, std::vector<Tag>> questions_;  ///< The last of each rank, until this rank has reported.
  std::vector<CheckMessages::Arrived> early_;             ///< Of ranks that have left the wait before this one.
  CheckMessages messages_;
};

}  // namespace plait::task::detail
