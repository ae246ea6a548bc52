// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/base/backoff.hpp"
#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/address.hpp"
#include "plait/comm/claimed_message.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/layout.hpp"
#include "plait/comm/options.hpp"
#include "plait/comm/request.hpp"
#include "plait/comm/status.hpp"
#include "plait/net/driver.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::comm {

namespace detail {
struct ArrivedActive;
class Engine;
class Waiters;
}  // namespace detail

/// How a message is sent, besides where to.
struct SendOptions {
  /// Among what waits to leave to the same rank, the larger goes first, as far as the packing strategy looks at it;
  /// among announced messages, always.
  std::int16_t priority = 0;
  Completion* completion = nullptr;
};

/// One receiver of a multicast.
struct Destination {
  Rank rank;
  std::int16_t priority = 0;          ///< The larger, the fewer ranks stand before it.
  std::uint32_t* sequence = nullptr;  ///< Where to note the message's number in `Status::sequence`, if anywhere.
};

/// Told when something has come into flight after nothing was. Called once, with no lock held; must be short.
class Doorbell {
 public:
  Doorbell() = default;
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;
  Doorbell(Doorbell&&) = delete;
  Doorbell& operator=(Doorbell&&) = delete;
  virtual ~Doorbell() = default;
  virtual void ring() noexcept = 0;
};

/// One rank's end of the network: messages with source and tag, matched as MPI matches, multicasts, active messages.
///
/// Short messages travel with their announcement; long ones wait for their receive and move without a copy. What a peer
/// may have under way is bounded by credits, what has come unasked by `unexpected_bytes_max`.
/// Order: messages of one (source, communicator) match in the order in which they were sent, active messages are
/// handled in that order (except that one too long for a packet is handled when its data has come). Progress is made by
/// whoever calls `progress`, `wait` or `test`, and by a `Progression`; the endpoint has no thread. Threads: any, for
/// every call, unless said otherwise. One thread polls at a time; others leave at once, or sleep.
class Endpoint {
 public:
  Endpoint(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options = {});
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  Endpoint(Endpoint&&) = delete;
  Endpoint& operator=(Endpoint&&) = delete;
  /// Gives up what is outstanding; call `drain` first for a good end.
  ~Endpoint();

  [[nodiscard]] Rank self() const noexcept { return self_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return driver_.rank_count(); }
  [[nodiscard]] const char* driver_name() const noexcept { return driver_.name(); }

  /// Sends `data`, which must stay unchanged until the request is complete.
  ///
  /// Throws: `Error` when the run has failed or the address is no rank of this run. Cost: one copy when short; returns
  /// at once.
  Request send(const Address& to, std::span<const std::byte> data, const SendOptions& options = {});
  /// Sends what stands in several places; the memory, not the layout, must stay.
  Request send(const Address& to, Layout data, const SendOptions& options = {});

  /// Receives into `buffer`, which must stay until the request is released. A longer message completes it with
  /// `ErrorCode::truncated`, and is lost.
  Request receive(const Address& from, std::span<std::byte> buffer, Completion* completion = nullptr);
  Request receive(const Address& from, Layout buffer, Completion* completion = nullptr);
  /// Receives a message of any length into `buffer`, which is resized to it.
  Request receive(const Address& from, Bytes& buffer, Completion* completion = nullptr);

  /// Sends `data` to each of `to`, each of which receives it as an ordinary message of this rank. They need not know of
  /// each other: receivers pass it on along a binomial tree that travels with it, whether they have received it
  /// themselves yet or not, as far as memory goes. Ranks that occur twice get it once.
  ///
  /// This rank sends at most ceil(log2(n + 1)) copies (more, when the list of the destinations does not fit into a
  /// packet). The request is complete when the buffer may be reused.
  Request multicast(std::vector<Destination> to,
                    Tag tag,
                    std::span<const std::byte> data,
                    const SendOptions& options = {},
                    CommId comm = world);

  /// The message that a receive with this address would get now, if one has come.
  [[nodiscard]] std::optional<Status> probe(const Address& from);
  /// As `probe`, and takes the message out, so that only `receive` below can get it.
  [[nodiscard]] std::optional<ClaimedMessage> claim(const Address& from);
  Request receive(ClaimedMessage message, std::span<std::byte> buffer, Completion* completion = nullptr);
  Request receive(ClaimedMessage message, Bytes& buffer, Completion* completion = nullptr);

  /// Has `handler` called for each active message sent to `id`; at most once an id, before the first message can come.
  /// Handlers run one at a time, in `progress`, with no lock held; they may post, and must not wait.
  void on(HandlerId id, Handler handler);
  /// An id that no program uses. The n-th call answers the same on every rank: call it in the same order on all.
  [[nodiscard]] HandlerId claim_handler();
  /// Forgets the handler of `id`, once it does not run. Not from a handler; no message for it may come any more.
  void off(HandlerId id);
  /// Sends an active message. `payload` is copied; returns at once.
  void post(Rank to, HandlerId id, std::span<const std::byte> payload);

  /// Moves what can be moved: a bounded amount of work. Returns what has happened, 0 for nothing; returns 0 at once
  /// while another thread polls. Throws nothing: trouble is told by `failure()`.
  std::size_t progress() noexcept;
  /// Makes progress until `is_done()`, waiting by the policy of the options. Throws: `Error` when the run has failed.
  void progress_until(const std::function<bool()>& is_done);
  /// Makes progress until everything sent has left. Throws as `progress_until`.
  void drain();
  /// Makes progress until nothing of this rank waits to leave but long messages that nobody has asked for yet: what the
  /// program has seen complete then arrives without this rank's help. For before calls that block elsewhere, as MPI's.
  /// Throws as `progress_until`.
  void flush();

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
  /// Whether anything is in flight, so that somebody should poll now and then.
  [[nodiscard]] bool needs_polls() const noexcept {
    return needs_polls_.load(std::memory_order_relaxed);  // a hint; orders nothing
  }
  /// How often anybody has polled.
  [[nodiscard]] std::uint64_t poll_count() const noexcept {
    return poll_count_.load(std::memory_order_relaxed);  // a hint; orders nothing
  }
  /// Packets that have left, of messages and of the protocol.
  [[nodiscard]] std::uint64_t packet_count() const;
  /// Has `doorbell` rung once, when something comes into flight; false, and nothing, when something is already.
  /// One at a time; null takes it back.
  [[nodiscard]] bool arm(Doorbell* doorbell);
  /// Whether active messages may come, for which nothing is in flight here.
  [[nodiscard]] bool has_handlers() const noexcept {
    return has_handlers_.load(std::memory_order_relaxed);  // a hint; orders nothing
  }

  /// Keeps every thread out of the network while the answer lives: for own calls into an MPI that was initialised below
  /// MPI_THREAD_MULTIPLE. The holder must not call the endpoint meanwhile.
  [[nodiscard]] std::unique_lock<SpinLock> hold() { return std::unique_lock{mutex_}; }

  /// Keeps `what` until this endpoint has gone: for whom a failed run leaves with memory of messages under way.
  void keep(std::shared_ptr<void> what);

  /// One line for each of the program's messages that has come and was never received, with source and tag; for reports
  /// at the end.
  [[nodiscard]] std::vector<std::string> never_received() const;

  /// Waits by `policy` from the next wait on. Not while another thread waits.
  void set_wait(const WaitPolicy& policy) noexcept { wait_ = policy; }

 private:
  friend class ClaimedMessage;
  friend class Promise;
  friend class Request;
  using Operation = detail::Operation;
  using Lock = std::unique_lock<SpinLock>;

  Request send_operation(const Address& to, std::unique_ptr<Operation> operation, const SendOptions& options);
  Request receive_operation(const Address& from, std::unique_ptr<Operation> operation, Completion* completion);
  Request receive_claimed(ClaimedMessage message, std::unique_ptr<Operation> operation, Completion* completion);
  void drop(std::unique_ptr<detail::Unexpected> message) noexcept;
  void throw_if_unusable(const Address& address) const;
  bool cancel(Operation& operation);
  void wait(Operation& operation, bool (*is_done)(const Operation&));
  template <class Done>
  void wait_until(Done is_done);

  void unlock_and_tell(Lock& lock) noexcept;
  void tell(Operation& operation) noexcept;
  void tell_released(Operation& operation) noexcept;
  void note_failure() noexcept;
  void run_handlers() noexcept;
  [[nodiscard]] std::unique_ptr<Handler>* handler_place(HandlerId id);
  void call(const Handler* handler, const detail::ArrivedActive& message) noexcept;

  net::Driver& driver_;
  const Rank self_;
  WaitPolicy wait_;
  Crowding crowding_;

  mutable SpinLock mutex_;  ///< Guards all down to the next comment.
  std::vector<std::shared_ptr<void>> kept_;
  std::unique_ptr<detail::Engine> engine_;
  std::vector<std::unique_ptr<Handler>> handlers_;
  std::vector<std::unique_ptr<Handler>> claimed_handlers_;
  Doorbell* doorbell_ = nullptr;

  SpinLock handler_mutex_;  ///< Held while handlers run, so that they keep their order.
  std::unique_ptr<detail::Waiters> waiters_;
  std::atomic<bool> has_poller_ = false;  ///< A waiting thread polls; others sleep.
  // Written with the lock held, for readers without.
  std::atomic<std::size_t> active_count_ = 0;
  std::atomic<std::size_t> outstanding_ = 0;
  std::atomic<std::size_t> bulk_count_ = 0;
  std::atomic<std::uint64_t> poll_count_ = 0;
  std::atomic<bool> needs_polls_ = false;
  std::atomic<bool> has_handlers_ = false;
  std::atomic<bool> has_failed_ = false;
  std::optional<Error> failure_;  ///< Set before `has_failed_`, once.
};

}  // namespace plait::comm
