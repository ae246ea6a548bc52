// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/collections/detail/termination.hpp"

namespace plait::data::detail {

/// The kind of an active message of a collection, at its beginning.
enum class MessageKind : std::uint32_t {
  termination,  ///< A `Termination::Note` follows.
  mail,         ///< To an element; its arguments follow.
  element,      ///< That moves here, `to`; it follows.
  moved,        ///< To its home: element `to` is on rank `origin`.
  known,        ///< Element `to` was last known on rank `origin`: to who has sent there by way of others.
  created,      ///< To its home: element `to` is new, on rank `origin`.
  erased,       ///< To its home: element `to` is no more.
};

/// The header of all messages but notes on termination. They are counted, and handled in the order of their numbers.
struct Head {
  MessageKind kind = MessageKind::mail;
  std::uint32_t number = 0;  ///< Among those from the rank that sends it to the rank that gets it.
  std::uint64_t phase = 0;
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::int64_t method = 0;    ///< Of `mail`: where the function is, counted from a known one.
  std::uint64_t step = 0;     ///< Of `mail`: that it is an input of, or `no_step`.
  std::uint32_t origin = 0;   ///< Rank that has sent it first.
  std::uint32_t hops = 0;     ///< Ranks that it was forwarded by.
  std::uint64_t sent_by = 0;  ///< Of `mail`: the task of `origin` that has sent it, in traces; 0: not recorded.
};
static_assert(sizeof(Head) == 64 && std::is_trivially_copyable_v<Head>);

/// The messages of a collection between ranks. They are counted, and taken in their phase, in the order of sending.
///
/// Messages between two ranks are numbered, as one longer than a packet arrives after shorter ones that were sent
/// later. A message of a phase that this rank has not opened is kept. Threads: any for posts; one at a time for
/// arrivals; that of the collection for `open` and `close`.
class Links {
 public:
  using Take = std::function<void(const Head& head, std::span<const std::byte> rest)>;

  /// Calls `take` for each message once, in a phase that is open. It may throw: the endpoint then ends the run.
  Links(comm::Endpoint& endpoint, comm::HandlerId handler, Take take);

  /// Assigns messages that are posted from now on to `phase`.
  void begin(std::uint64_t phase) noexcept { phase_.store(phase, std::memory_order_relaxed); }  // no other thread yet
  void post(Rank to, const Head& head, std::span<const std::byte> rest = {});
  /// As `post`, with room for the head at the front of `message`.
  void post_with_room(Rank to, const Head& head, Bytes& message);
  void has_arrived(Rank source, std::span<const std::byte> message);

  /// Takes messages of `phase` from now on, first those that were kept.
  void open(std::uint64_t phase);
  void close();
  /// Returns the messages to and from other ranks since the beginning. Reads `handled` first, whose effects are then
  /// seen.
  [[nodiscard]] Counts counts() const noexcept;

 private:
  void accept(std::span<const std::byte> message);
  void handle(std::span<const std::byte> message);

  comm::Endpoint& endpoint_;
  const comm::HandlerId handler_;
  const Take take_;
  std::atomic<std::uint64_t> phase_ = 0;                            ///< Of messages that are posted.
  std::unique_ptr<std::atomic<std::uint32_t>[]> next_out_;          ///< By rank: the number of the next message.
  std::vector<std::uint32_t> next_in_;                              ///< By rank: the number that is expected.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Bytes> ahead_;  ///< By rank and number: overtook others.
  std::atomic<std::uint64_t> sent_ = 0;
  std::atomic<std::uint64_t> handled_ = 0;
  SpinLock lock_;  ///< Guards the next two.
  std::uint64_t open_phase_ = 0;
  std::vector<Bytes> early_;
};

}  // namespace plait::data::detail
