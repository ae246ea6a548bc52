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

/// How a message is sent, besides where to.
struct SendOptions {
  /// Of messages that wait for the same rank, those with the larger priority are sent first, if the packing strategy
  /// respects it; of rendezvous messages, always.
  std::int16_t priority = 0;
  Completion* completion = nullptr;
};

/// One receiver of a multicast.
struct Destination {
  Rank rank;
  std::int16_t priority = 0;          ///< The larger, the fewer ranks are before it in the tree.
  std::uint32_t* sequence = nullptr;  ///< Where to store the message's number (`Status::sequence`), if anywhere.
};

/// One rank's end of the network: messages with source and tag, matched as MPI matches, multicasts, active messages.
///
/// Small messages are sent eagerly; large ones use rendezvous and move without a copy. Credits bound the packets in
/// flight from a peer, `unexpected_bytes_max` its unexpected data. Order: messages of one (source, communicator) match
/// in the order in which they were sent. Active messages are handled in that order, except that one too long for a
/// packet is handled when its data has arrived. `progress`, `wait`, `test` and a `Progression` make progress; the
/// endpoint has no thread. Threads: any, for every call, unless documented otherwise. One thread polls at a time;
/// others return at once, or sleep.
class Endpoint {
 public:
  Endpoint(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options = {});
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  /// Gives up what is outstanding; call `drain` first for a good end.
  ~Endpoint();

  [[nodiscard]] Rank self() const noexcept { return self_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return driver_.rank_count(); }
  [[nodiscard]] const char* driver_name() const noexcept { return driver_.name(); }

  /// Sends `data`, which must stay unchanged until the request is complete.
  ///
  /// Throws: `Error` when the run has failed or the address is no rank of this run. Cost: one copy when eager; returns
  /// at once.
  Request send(const Address& to, std::span<const std::byte> data, const SendOptions& options = {});
  /// Sends non-contiguous data; the memory, not the layout, must stay.
  Request send(const Address& to, Layout data, const SendOptions& options = {});

  /// Receives into `buffer`, which must stay until the request is released. A message that does not fit completes the
  /// request with `ErrorCode::truncated`, and is lost.
  Request receive(const Address& from, std::span<std::byte> buffer, Completion* completion = nullptr);
  Request receive(const Address& from, Layout buffer, Completion* completion = nullptr);
  /// Receives a message of any length into `buffer`, which is resized to it.
  Request receive(const Address& from, Bytes& buffer, Completion* completion = nullptr);

  /// Sends `data` to each of `to`, each of which receives it as an ordinary message of this rank.
  ///
  /// Receivers need not know of each other: they forward the message along a binomial tree that travels with it,
  /// whether they have received it themselves or not, as far as memory permits. Ranks that occur twice get it once.
  ///
  /// This rank sends at most ceil(log2(n + 1)) copies (more, when the list of the destinations does not fit into a
  /// packet). The request is complete when the buffer may be reused.
  Request multicast(std::vector<Destination> to,
                    Tag tag,
                    std::span<const std::byte> data,
                    const SendOptions& options = {},
                    CommId comm = world);

  /// Claims `count` communicators that no other claim on this endpoint has, and whose ids the program does not choose.
  ///
  /// The n-th claim gets the same ids on every rank: all ranks make the same claims in the same order. Debug builds
  /// stop the run when messages show that two ranks have not. Throws: `Error` with `bad_argument` when there are no
  /// more.
  [[nodiscard]] ClaimedComms claim_comms(std::uint32_t count,
                                         const std::source_location& where = std::source_location::current());

  /// The message that a receive with this address would get now, if one has arrived.
  [[nodiscard]] std::optional<Status> probe(const Address& from);
  /// As `probe`, and takes the message out, so that only `receive` below can get it.
  [[nodiscard]] std::optional<ClaimedMessage> claim(const Address& from);
  Request receive(ClaimedMessage message, std::span<std::byte> buffer, Completion* completion = nullptr);
  Request receive(ClaimedMessage message, Bytes& buffer, Completion* completion = nullptr);

  /// Has `handler` called for each active message sent to `id`; at most once an id, before the first message can come.
  /// Handlers run one at a time, in `progress`, with no lock held; they may post, and must not wait.
  void on(HandlerId id, Handler handler);
  /// An id that no program uses. The n-th call returns the same id on every rank: call it in the same order on all.
  [[nodiscard]] HandlerId claim_handler();
  /// Removes the handler of `id`, once it does not run. Not from a handler; no message for it may come any more.
  void off(HandlerId id);
  /// Sends an active message. `payload` is copied; returns at once.
  void post(Rank to, HandlerId id, std::span<const std::byte> payload);

  /// Makes progress, a bounded amount of work. Returns the number of events, 0 for none; returns 0 at once while
  /// another thread polls. Throws nothing: errors are in `failure()`.
  std::size_t progress() noexcept;
  /// Makes progress until `is_done()`, waiting by the policy of the options. Throws: `Error` when the run has failed.
  void progress_until(const std::function<bool()>& is_done);
  /// Makes progress until all sends are complete and flushed. Throws as `progress_until`.
  void drain();
  /// Makes progress until all sends that may be sent are flushed: all but rendezvous messages that no receiver has
  /// cleared. What the program has seen complete then arrives without this rank's help. For use before calls that block
  /// elsewhere, such as MPI's. Throws as `progress_until`.
  void flush();

  /// What has ended the run, if anything has: the network's own failure, or what a peer gave to `stop_all`.
  [[nodiscard]] std::optional<Error> failure() const;
  /// Notifies every rank, this one included, that the run has failed, as far as the network still carries it.
  void stop_all(const Error& reason) noexcept;

  /// What is in flight, for threads that decide whether to poll.
  [[nodiscard]] const Activity& activity() const noexcept { return activity_; }
  /// Has `doorbell` rung once, when something comes into flight; false, and nothing, when something is already.
  /// One at a time; null takes it back.
  [[nodiscard]] bool arm(Doorbell* doorbell);

  /// Keeps every thread out of the network while the returned lock lives: for own calls into an MPI that was
  /// initialised below MPI_THREAD_MULTIPLE. The holder must not call the endpoint meanwhile.
  [[nodiscard]] std::unique_lock<SpinLock> hold();

  /// Keeps `what` until this endpoint ends: memory of messages that are in flight when a run fails.
  void keep(std::shared_ptr<void> what);

  /// One line for each of the program's messages that has arrived and was never received, with source and tag; for
  /// reports at the end.
  [[nodiscard]] std::vector<std::string> never_received() const;

  /// Waits by `policy` from the next wait on. Not while another thread waits.
  void set_wait(const WaitPolicy& policy) noexcept;

 private:
  friend class ClaimedComms;
  friend class ClaimedMessage;
  friend class Promise;
  friend class Request;
  using Operation = detail::Operation;

  void throw_if_unusable(const Address& address) const;
  Request start_send(const Address& to, std::unique_ptr<Operation> operation, const SendOptions& options);
  Request start_receive(const Address& from, std::unique_ptr<Operation> operation, Completion* completion);
  Request start_claimed(ClaimedMessage message, std::unique_ptr<Operation> operation, Completion* completion);

  net::Driver& driver_;
  const Rank self_;
  Activity activity_;
  std::unique_ptr<detail::Core> core_;
};

}  // namespace plait::comm
