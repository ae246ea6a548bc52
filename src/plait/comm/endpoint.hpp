// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "plait/base/backoff.hpp"
#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/activity.hpp"
#include "plait/comm/address.hpp"
#include "plait/comm/claimed_comms.hpp"
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
class Core;
struct Operation;
struct Unexpected;
}  // namespace detail

/// Options of a send.
struct SendOptions {
  /// Rendezvous messages to a rank are sent in order of decreasing priority; others if the packing strategy does so.
  std::int16_t priority = 0;
  Completion* completion = nullptr;
  /// The request completes only when a receive has matched the message.
  bool is_synchronous = false;
};

/// One receiver of a multicast.
struct Destination {
  Rank rank;
  std::int16_t priority = 0;          ///< A larger one is earlier in the tree.
  std::uint32_t* sequence = nullptr;  ///< Where to store `Status::sequence`; may be null.
};

/// One rank's end of the network: messages with MPI's matching, multicasts and active messages.
///
/// Small messages are sent eagerly; large ones use rendezvous without a copy. Credits bound the packets in flight from
/// a peer, `unexpected_bytes_max` its unexpected data. Messages of one (source, communicator) match in the order of
/// sending. Active messages are handled in that order too; one too long for a packet, when its data has arrived.
/// `progress`, `wait`, `test` and a `Progression` make progress; the endpoint has no thread. Threads: any, for every
/// call, unless documented otherwise. One thread polls at a time; others return at once, or sleep.
class Endpoint {
 public:
  Endpoint(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options = {});
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  /// Abandons what is outstanding; call `drain` first.
  ~Endpoint();

  [[nodiscard]] Rank self() const noexcept { return self_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return driver_.rank_count(); }
  [[nodiscard]] const char* driver_name() const noexcept { return driver_.name(); }
  /// What carries the threads of this rank; null: the system.
  [[nodiscard]] Executor* executor() const noexcept { return driver_.executor(); }

  /// Sends `data`, which must stay unchanged until the request is complete. Does not wait.
  ///
  /// Throws: `Error` when the run has failed or the address is no rank of this run. Cost: one copy when eager.
  Request send(const Address& to, std::span<const std::byte> data, const SendOptions& options = {});
  /// Sends non-contiguous data; the memory, not the layout, must stay.
  Request send(const Address& to, Layout data, const SendOptions& options = {});

  /// Receives into `buffer`, which must stay until the request is released. A message that does not fit is lost, and
  /// completes the request with `ErrorCode::truncated`.
  Request receive(const Address& from, std::span<std::byte> buffer, Completion* completion = nullptr);
  Request receive(const Address& from, Layout buffer, Completion* completion = nullptr);
  /// Receives a message of any length into `buffer`, which is resized to it.
  Request receive(const Address& from, Bytes& buffer, Completion* completion = nullptr);

  /// Sends `data` to each of `to`, which receive it as an ordinary message of this rank.
  ///
  /// The receivers forward the message along a binomial tree that travels with it, also before they receive it
  /// themselves, as far as memory permits. A rank that occurs twice gets it once. This rank sends at most
  /// ceil(log2(n + 1)) copies, or more when the destinations do not fit into a packet. If `Nodes` are set, one copy
  /// goes to each other node, along a tree of nodes, and spreads there. If several ranks share memory with this one,
  /// they read one copy there of what does not fit into a packet, while memory for copies is left. The request is
  /// complete when the buffer may be reused.
  Request multicast(std::vector<Destination> to,
                    Tag tag,
                    std::span<const std::byte> data,
                    const SendOptions& options = {},
                    CommId comm = world);

  /// Claims `count` unused communicators.
  ///
  /// The n-th claim gets the same ids on every rank: all ranks must make the same claims in the same order. Debug
  /// builds stop the run when messages show that they have not. Throws: `Error` with `bad_argument` when none are left.
  [[nodiscard]] ClaimedComms claim_comms(std::uint32_t count,
                                         const std::source_location& where = std::source_location::current());

  /// Returns the status of the message that a receive with this address would get now, if one has arrived.
  [[nodiscard]] std::optional<Status> probe(const Address& from);
  /// As `probe`, and claims the message: only a `receive` of the claimed message gets it.
  [[nodiscard]] std::optional<ClaimedMessage> claim(const Address& from);
  Request receive(ClaimedMessage message, std::span<std::byte> buffer, Completion* completion = nullptr);
  Request receive(ClaimedMessage message, Layout buffer, Completion* completion = nullptr);
  Request receive(ClaimedMessage message, Bytes& buffer, Completion* completion = nullptr);

  /// Registers `handler` for active messages sent to `id`, once for each id, before the first message can arrive.
  /// Handlers run one at a time, in `progress`, with no lock held. They may post, and must not wait.
  void on(HandlerId id, Handler handler);
  /// Returns an id that programs do not choose. All ranks must claim in the same order: the n-th gets the same id.
  [[nodiscard]] HandlerId claim_handler();
  /// Waits until the handler of `id` is not running, and removes it. Not from a handler; no message may follow.
  void off(HandlerId id);
  /// Sends an active message. Copies `payload`; does not wait.
  void post(Rank to, HandlerId id, std::span<const std::byte> payload);

  /// Makes a bounded amount of progress. Returns the number of events; while another thread polls, that of the pieces
  /// of segments that this one has helped to copy. Errors are in `failure()`.
  std::size_t progress() noexcept;
  /// Makes progress until `is_done()`, with the wait policy; asks again after it was true. Throws: `Error` when the run
  /// has failed.
  void progress_until(const std::function<bool()>& is_done);
  /// Makes progress until all sends are complete and flushed. Throws as `progress_until`.
  void drain();
  /// Makes progress until all sends are flushed, except rendezvous messages that are not cleared to send. Completed
  /// sends then arrive without this rank's progress. Use it before blocking calls elsewhere, such as MPI's. Throws as
  /// `progress_until`.
  void flush();

  /// The error that has stopped the run, if any: of the network, or from a peer's `stop_all`.
  [[nodiscard]] std::optional<Error> failure() const;
  /// Notifies every rank, this one included, that the run has failed, as far as the network still works.
  void stop_all(const Error& reason) noexcept;

  /// Whether anything is in flight, for threads that decide whether to poll.
  [[nodiscard]] const Activity& activity() const noexcept { return activity_; }
  /// Has `doorbell` called once, with no lock held, when something comes into flight after nothing was; it must be
  /// short. Returns false, and does nothing, when something is in flight already. One at a time; null takes it back.
  [[nodiscard]] bool arm(const std::function<void()>* doorbell);

  /// Keeps all threads out of the network while the returned lock lives, for own MPI calls below MPI_THREAD_MULTIPLE.
  /// The holder must not call the endpoint.
  [[nodiscard]] std::unique_lock<SpinLock> hold();

  /// Keeps `what` alive until this endpoint ends: memory of messages in flight when a run fails.
  void keep(std::shared_ptr<void> what);

  /// Describes each unexpected message of the program, for reports at the end.
  [[nodiscard]] std::vector<std::string> never_received() const;

  /// Sets the policy of later waits. Not while a thread waits.
  void set_wait(const WaitPolicy& policy) noexcept;

 private:
  friend class ClaimedComms;
  friend class ClaimedMessage;
  friend class CopyHelpers;
  friend class Nodes;
  friend class Progression;
  friend class Promise;
  friend class OneSidedAccess;
  friend class Request;
  using Operation = detail::Operation;

  void throw_if_unusable(const Address& address) const;
  Request start_send(const Address& to, std::unique_ptr<Operation> operation, const SendOptions& options);
  Request start_receive(const Address& from, std::unique_ptr<Operation> operation, Completion* completion);
  Request start_claimed(ClaimedMessage message, std::unique_ptr<Operation> operation, Completion* completion);

  net::Driver& driver_;
  const Rank self_;
  std::vector<std::uint32_t> nodes_;
  Activity activity_;
  std::unique_ptr<detail::Core> core_;
};

}  // namespace plait::comm
