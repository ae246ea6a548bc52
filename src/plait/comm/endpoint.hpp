// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/matching.hpp"
#include "plait/comm/options.hpp"
#include "plait/comm/request.hpp"
#include "plait/comm/status.hpp"
#include "plait/comm/wire.hpp"
#include "plait/net/driver.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::comm {

namespace detail {
struct Peer;
struct Unexpected;
}  // namespace detail

/// Where a message goes to, or is expected from (there source and tag may be wild).
struct Address {
  Rank rank;
  Tag tag;
  CommId comm = world;
};

/// What an active message's handler is given; `payload` is valid during the call only.
struct ActiveMessage {
  Rank source;
  std::span<const std::byte> payload;
};
using Handler = std::function<void(const ActiveMessage&)>;
using HandlerId = Id<struct HandlerTag>;

/// One rank's end of the network: messages with source and tag, matched as MPI matches, and active messages.
///
/// Short messages travel with their announcement; long ones wait for their receive and move without a copy. What a peer
/// may have under way is bounded by credits, what has come unasked by `unexpected_bytes_max`.
/// Order: messages of one (source, communicator) match in the order in which they were sent, active messages are
/// handled in that order (except that one too long for a packet is handled when its data has come). Progress is made by
/// whoever calls `progress`, `wait` or `test`; the endpoint has no thread. Threads: any, for every call, unless said
/// otherwise. One thread polls at a time; others leave at once.
class Endpoint {
 public:
  Endpoint(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options = {});
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  Endpoint(Endpoint&&) = delete;
  Endpoint& operator=(Endpoint&&) = delete;
  /// Gives up what is outstanding; call `drain` first for a good end.
  ~Endpoint();

  [[nodiscard]] Rank self() const noexcept { return driver_.self(); }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return driver_.rank_count(); }

  /// Sends `data`, which must stay unchanged until the request is complete.
  ///
  /// Throws: `Error` when the run has failed or the address is no rank of this run. Cost: one copy when short; returns
  /// at once.
  Request send(const Address& to, std::span<const std::byte> data, Completion* completion = nullptr);

  /// Receives into `buffer`, which must stay until the request is complete. A longer message completes it with
  /// `ErrorCode::truncated`, and is lost.
  Request receive(const Address& from, std::span<std::byte> buffer, Completion* completion = nullptr);
  /// Receives a message of any length into `buffer`, which is resized to it.
  Request receive(const Address& from, Bytes& buffer, Completion* completion = nullptr);

  /// The message that a receive with this address would get now, if one has come.
  [[nodiscard]] std::optional<Status> probe(const Address& from);

  /// Has `handler` called for each active message sent to `id`; at most once an id, before the first message can come.
  /// Handlers run one at a time, in `progress`, with no lock held; they may post, and must not wait.
  void on(HandlerId id, Handler handler);
  /// Sends an active message. `payload` is copied; returns at once.
  void post(Rank to, HandlerId id, std::span<const std::byte> payload);

  /// Moves what can be moved: a bounded amount of work. Returns what has happened, 0 for nothing; returns 0 at once
  /// while another thread polls. Throws nothing: trouble is told by `failure()`.
  std::size_t progress() noexcept;

  /// Makes progress until `is_done()`, waiting by the policy of the options.
  ///
  /// Throws: `Error` when the run has failed.
  void progress_until(const std::function<bool()>& is_done);

  /// Makes progress until everything sent has left. Throws as `progress_until`.
  void drain();

  /// What has ended the run, if anything has: the network's own failure, or what a peer said in `stop_all`.
  [[nodiscard]] std::optional<Error> failure() const;
  /// Tells every rank, this one included, that the run has failed, as far as the network still carries it.
  void stop_all(const Error& reason) noexcept;

  /// Operations that are not complete.
  [[nodiscard]] std::size_t outstanding_count() const noexcept {
    return outstanding_.load(std::memory_order_relaxed);  // a hint; orders nothing
  }
  /// Whether bulk data is on its way. It moves only while somebody looks: who waits should then look again at once,
  /// giving way to others.
  [[nodiscard]] bool is_moving_bulk() const noexcept {
    return bulk_count_.load(std::memory_order_relaxed) > 0;  // a hint; orders nothing
  }
  /// One line for each of the program's messages that has come and was never received, with source and tag; for reports
  /// at the end.
  [[nodiscard]] std::vector<std::string> never_received() const;

  /// Waits by `policy` from the next wait on. Not while another thread waits.
  void set_wait(const WaitPolicy& policy) noexcept { wait_ = policy; }

 private:
  friend class Request;
  using Operation = detail::Operation;
  using Lock = std::unique_lock<SpinLock>;

  struct ArrivedActive {
    HandlerId handler;
    Rank source;
    Bytes payload;
  };

  Request receive_into(const Address& from, Operation& operation);
  void throw_if_unusable(const Address& address) const;
  std::size_t poll();
  bool cancel(Operation& operation);
  template <class Done>
  void wait_until(Done is_done);
  void wait(const Operation& operation);

  /// Changes a count that others only read: with the lock held it needs no atomic addition.
  static void add(std::atomic<std::size_t>& count, int change) noexcept {
    count.store(count.load(std::memory_order_relaxed) + static_cast<std::size_t>(change),
                std::memory_order_relaxed);  // a hint to readers; orders nothing
  }

  // With the lock held, down to `now_if_tracing`.
  [[nodiscard]] std::optional<Status> leave_at_once(const Address& to,
                                                    wire::Kind kind,
                                                    std::span<const std::byte> data);
  bool try_leave(Operation& operation);
  [[nodiscard]] bool try_packet(Rank to, wire::Header& header, std::span<const std::byte> data);
  [[nodiscard]] bool leaves_with_its_data(std::size_t bytes, const detail::Peer& peer) const;
  void leave(Operation& operation);
  [[nodiscard]] net::Post try_send(Rank to, net::Packet& packet);
  void leave_from_backlog();
  bool try_leave_all(Rank rank);
  void push_out();
  void send_control(Rank to, const wire::Header& header, std::span<const std::byte> data = {});
  void return_credits();
  void handle(net::Arrival arrival);
  void handle_sequenced(Rank source, const wire::Header& header, net::Packet packet);
  void deliver(Rank source, const wire::Header& header, net::Packet packet);
  void deliver_message(Rank source, const wire::Header& header, net::Packet packet);
  void deliver_active(Rank source, const wire::Header& header, net::Packet packet);
  void keep_unexpected(Rank source, const wire::Header& header, net::Packet packet);
  void give(Operation& operation, const wire::Header& header, std::span<const std::byte> data);
  void give_unexpected(Operation& operation, std::unique_ptr<detail::Unexpected> message);
  void start_bulk_receive(Operation& operation, const wire::Header& header);
  [[nodiscard]] bool try_bulk(Operation& operation);
  void post_waiting_bulk();
  void handle_ready(Rank source, const wire::Header& header);
  void bulk_done(const net::BulkDone& done);
  void complete(Operation& operation, std::size_t bytes, std::optional<ErrorCode> error = {});
  void set_failure(const Error& reason);
  void record_poll_gap();
  void record(const Operation& operation);
  [[nodiscard]] nanoseconds now_if_tracing() const;

  /// Releases the lock and tells what has completed.
  void tell(Lock& lock) noexcept;
  void tell(Operation& operation) noexcept;
  void run_handlers() noexcept;
  void call(const Handler* handler, const ArrivedActive& message) noexcept;

  net::Driver& driver_;
  trace::Recorder& recorder_;
  trace::ThreadRecorder& trace_;
  const EndpointOptions options_;
  WaitPolicy wait_;
  const std::size_t eager_bytes_max_;
  const std::uint32_t credits_of_a_peer_;
  const bool is_tracing_;

  mutable SpinLock mutex_;
  Matcher matcher_;
  std::vector<std::unique_ptr<detail::Peer>> peers_;
  std::vector<Rank> with_backlog_;
  std::vector<Rank> with_credits_to_return_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Operation*> slots_;      ///< The receive that uses each bulk slot, or null.
  std::vector<Operation*> announced_;  ///< Sends that wait for the receiver, by the number it was told; or null.
  std::vector<std::uint32_t> free_announced_;
  std::deque<Operation*> waiting_bulk_;  ///< Bulk transfers that wait for a slot or for the driver.
  Operation* completed_ = nullptr;       ///< Complete, but not yet told: first and last of a list, oldest first.
  Operation* completed_last_ = nullptr;
  std::vector<net::Arrival> arrivals_;
  std::vector<net::BulkDone> bulk_done_;
  std::vector<std::unique_ptr<Handler>> handlers_;
  std::deque<ArrivedActive> active_;
  nanoseconds last_poll_{};

  SpinLock handler_mutex_;  ///< Held while handlers run, so that they keep their order.
  std::atomic<std::size_t> active_count_ = 0;
  std::atomic<std::size_t> outstanding_ = 0;
  std::atomic<std::size_t> bulk_count_ = 0;  ///< Transfers posted to the driver.
  std::atomic<bool> has_failed_ = false;
  std::optional<Error> failure_;
};

}  // namespace plait::comm
