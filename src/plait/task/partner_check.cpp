// SPDX-License-Identifier: Apache-2.0
#include "plait/task/partner_check.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/base/random.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/task/detail/node.hpp"

namespace plait::task {

namespace {

constexpr Tag list_tag{0};
constexpr Tag verdict_tag{1};
constexpr std::size_t named_max = 20;

/// What distinguishes messages between two ranks.
struct Name {
  comm::CommId comm;
  Tag tag;
  friend auto operator<=>(const Name&, const Name&) = default;
};

struct Tally {
  std::uint32_t count = 0;
  std::string kind;
};
using Tallies = std::map<Name, Tally>;

/// Replaces a list as long as both sides agree.
struct Digest {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;  ///< Of a hash of each message: the order does not matter.
  friend bool operator==(const Digest&, const Digest&) = default;
};

struct Summary {
  Digest sends;
  Digest receives;
};

Digest digest(const Tallies& tallies) {
  Digest digest;
  for (const auto& [name, tally] : tallies) {
    digest.count += tally.count;
    digest.sum += tally.count * Random{Random{name.tag.value()}() + name.comm.value()}();
  }
  return digest;
}

/// The active messages of this rank.
struct Ledger {
  Ledger(const comm::Endpoint& endpoint, const Graph& graph, std::span<const Task> active)
      : sends(endpoint.rank_count()), receives(endpoint.rank_count()) {
    for (const Task& task : active) {
      const detail::Node& node = task.node();
      if (!node.role->is_message) {
        continue;
      }
      Tally& tally = list_of(node)[{node.message->address.comm, node.message->address.tag}];
      ++tally.count;
      tally.kind = graph.kinds()[node.kind.value()];
    }
  }

  Tallies& list_of(const detail::Node& node) {
    const Rank rank = node.message->address.rank;
    if (node.role == detail::Role::send) {
      return sends.at(rank.value());
    }
    return rank == any_source ? receives_from_any : receives.at(rank.value());
  }

  std::vector<Tallies> sends;     ///< By receiver.
  std::vector<Tallies> receives;  ///< By sender; with `any_tag` too.
  Tallies receives_from_any;
};

// ---- lists as bytes ----

template <class T>
void put(Bytes& bytes, const T& value) {
  const auto raw = std::as_bytes(std::span{&value, 1});
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}
void put(Bytes& bytes, const std::string& text) {
  put(bytes, static_cast<std::uint32_t>(text.size()));
  const auto raw = std::as_bytes(std::span{text});
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

template <class T>
void take(std::span<const std::byte>& bytes, T& value) {
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes = bytes.subspan(sizeof(T));
}
void put(Bytes& bytes, const Name& name) {
  put(bytes, name.comm);
  put(bytes, name.tag);
}

void take(std::span<const std::byte>& bytes, std::string& text) {
  std::uint32_t size = 0;
  take(bytes, size);
  text.assign(reinterpret_cast<const char*>(bytes.data()), size);
  bytes = bytes.subspan(size);
}

void take(std::span<const std::byte>& bytes, Name& name) {
  take(bytes, name.comm);
  take(bytes, name.tag);
}

Bytes packed(const Tallies& tallies) {
  Bytes bytes;
  for (const auto& [name, tally] : tallies) {
    put(bytes, name);
    put(bytes, tally.count);
    put(bytes, tally.kind);
  }
  return bytes;
}

Tallies unpacked_tallies(std::span<const std::byte> bytes) {
  Tallies tallies;
  while (!bytes.empty()) {
    Name name;
    Tally tally;
    take(bytes, name);
    take(bytes, tally.count);
    take(bytes, tally.kind);
    tallies.emplace(name, std::move(tally));
  }
  return tallies;
}

Bytes packed(std::span<const LonelyMessage> messages) {
  Bytes bytes;
  for (const LonelyMessage& message : messages) {
    put(bytes, Name{message.comm, message.tag});
    put(bytes, message.send_count);
    put(bytes, message.receive_count);
    put(bytes, message.send_kind);
    put(bytes, message.receive_kind);
  }
  return bytes;
}

std::vector<LonelyMessage> unpacked_messages(std::span<const std::byte> bytes, Rank source, Rank destination) {
  std::vector<LonelyMessage> messages;
  while (!bytes.empty()) {
    LonelyMessage& message = messages.emplace_back();
    Name name;
    take(bytes, name);
    message.source = source;
    message.destination = destination;
    message.comm = name.comm;
    message.tag = name.tag;
    take(bytes, message.send_count);
    take(bytes, message.receive_count);
    take(bytes, message.send_kind);
    take(bytes, message.receive_kind);
  }
  return messages;
}

// ---- comparing ----

/// Takes up to `count` receives called `name` out of `tallies`; returns how many there were.
std::uint32_t take_out(Tallies& tallies, const Name& name, std::uint32_t count) {
  const auto found = tallies.find(name);
  if (found == tallies.end()) {
    return 0;
  }
  const std::uint32_t taken = std::min(count, found->second.count);
  found->second.count -= taken;
  return taken;
}

/// Takes the receives of what is sent out of `receives` and `from_any`; returns what is not received.
std::vector<LonelyMessage> take_received(const Tallies& sends, Tallies& receives, Tallies& from_any) {
  std::vector<LonelyMessage> lonely;
  for (const auto& [name, send] : sends) {
    const Name with_any_tag{name.comm, any_tag};
    const auto partner = receives.find(name);
    const bool is_asked_for = partner != receives.end() && partner->second.count > 0;
    std::uint32_t left = send.count - take_out(receives, name, send.count);
    left -= take_out(receives, with_any_tag, left);
    left -= take_out(from_any, name, left);
    left -= take_out(from_any, with_any_tag, left);
    if (left > 0) {
      lonely.push_back({.tag = name.tag,
                        .comm = name.comm,
                        .send_count = send.count,
                        .receive_count = send.count - left,
                        .send_kind = send.kind,
                        .receive_kind = is_asked_for ? partner->second.kind : ""});
    }
  }
  return lonely;
}

/// What of one rank's messages to another lacks a partner. Wildcard receives take what no other receive matches.
std::vector<LonelyMessage> compare(const Tallies& sends, Tallies receives, Tallies& from_any) {
  std::vector<LonelyMessage> lonely = take_received(sends, receives, from_any);
  for (const auto& [name, receive] : receives) {
    if (receive.count == 0) {
      continue;
    }
    const auto partner = sends.find(name);
    const Tally send = partner != sends.end() ? partner->second : Tally{};
    lonely.push_back({.tag = name.tag,
                      .comm = name.comm,
                      .send_count = send.count,
                      .receive_count = send.count + receive.count,
                      .send_kind = send.kind,
                      .receive_kind = receive.kind});
  }
  return lonely;
}

/// One rank's part of the comparison.
class Comparison {
 public:
  Comparison(comm::Endpoint& endpoint, Ledger ledger)
      : endpoint_{endpoint}, all_{endpoint}, ledger_{std::move(ledger)} {}

  std::vector<LonelyMessage> run() {
    exchange_summaries();
    send_lists();
    for (std::uint32_t peer = 0; peer < theirs_.size(); ++peer) {
      judge(Rank{peer});
    }
    note_left_over();
    hear_verdicts();
    for (comm::Request& sent : sent_) {
      sent.wait();
    }
    return std::move(lonely_);
  }

 private:
  void exchange_summaries() {
    mine_.resize(endpoint_.rank_count());
    theirs_.resize(endpoint_.rank_count());
    for (std::size_t peer = 0; peer < mine_.size(); ++peer) {
      mine_[peer] = {digest(ledger_.sends[peer]), digest(ledger_.receives[peer])};
    }
    comm::all_to_all(all_, std::span<const Summary>{mine_}, std::span{theirs_}).wait();
  }

  /// Both ranks see both digests, so both know whether a list comes.
  [[nodiscard]] bool agrees_what_i_send(std::size_t peer) const { return mine_[peer].sends == theirs_[peer].receives; }
  [[nodiscard]] bool agrees_what_i_receive(std::size_t peer) const {
    return theirs_[peer].sends == mine_[peer].receives;
  }

  void send(std::size_t peer, Tag tag, Bytes bytes) {
    buffers_.push_back(std::make_unique<Bytes>(std::move(bytes)));
    sent_.push_back(endpoint_.send({Rank{static_cast<std::uint32_t>(peer)}, tag, all_.comm()}, *buffers_.back()));
  }

  Bytes receive(Rank from, Tag tag) {
    Bytes bytes;
    endpoint_.receive({from, tag, all_.comm()}, bytes).wait();
    return bytes;
  }

  void send_lists() {
    for (std::size_t peer = 0; peer < mine_.size(); ++peer) {
      if (!agrees_what_i_send(peer)) {
        send(peer, list_tag, packed(ledger_.sends[peer]));
      }
    }
  }

  /// The receiver judges: it alone knows what its receives from any rank may take.
  void judge(Rank source) {
    const std::size_t peer = source.value();
    if (agrees_what_i_receive(peer)) {
      return;
    }
    const Bytes list = receive(source, list_tag);
    std::vector<LonelyMessage> lonely =
        compare(unpacked_tallies(list), ledger_.receives[peer], ledger_.receives_from_any);
    send(peer, verdict_tag, packed(lonely));
    for (LonelyMessage& message : lonely) {
      message.source = source;
      message.destination = endpoint_.self();
      lonely_.push_back(std::move(message));
    }
  }

  void note_left_over() {
    for (const auto& [name, tally] : ledger_.receives_from_any) {
      if (tally.count > 0) {
        lonely_.push_back({.source = any_source,
                           .destination = endpoint_.self(),
                           .tag = name.tag,
                           .comm = name.comm,
                           .send_count = 0,
                           .receive_count = tally.count,
                           .send_kind = "",
                           .receive_kind = tally.kind});
      }
    }
  }

  void hear_verdicts() {
    for (std::uint32_t peer = 0; peer < mine_.size(); ++peer) {
      if (agrees_what_i_send(peer)) {
        continue;
      }
      const Bytes verdict = receive(Rank{peer}, verdict_tag);
      if (Rank{peer} != endpoint_.self()) {  // else it is in the list
        std::ranges::move(unpacked_messages(verdict, endpoint_.self(), Rank{peer}), std::back_inserter(lonely_));
      }
    }
  }

  comm::Endpoint& endpoint_;
  comm::Group all_;
  Ledger ledger_;
  std::vector<Summary> mine_;    ///< By peer.
  std::vector<Summary> theirs_;  ///< By peer.
  std::vector<LonelyMessage> lonely_;
  std::vector<std::unique_ptr<Bytes>> buffers_;
  std::vector<comm::Request> sent_;
};

std::string described(std::uint32_t count, const char* what, const std::string& kind) {
  return fmt::format("{} {}{}{}", count, what, count == 1 ? "" : "s", kind.empty() ? "" : " ('" + kind + "')");
}

}  // namespace

std::string to_string(const LonelyMessage& message) {
  return fmt::format("from {} to rank {} with {}{}: {}, {}",
                     message.source == any_source ? "any rank" : fmt::format("rank {}", message.source.value()),
                     message.destination.value(),
                     message.tag == any_tag ? "any tag" : fmt::format("tag {}", message.tag.value()),
                     message.comm == comm::world ? "" : fmt::format(" in communicator {}", message.comm.value()),
                     described(message.send_count, "send", message.send_kind),
                     described(message.receive_count, "receive", message.receive_kind));
}

std::vector<LonelyMessage> find_lonely_messages(comm::Endpoint& endpoint,
                                                const Graph& graph,
                                                std::span<const Task> active) {
  return Comparison{endpoint, Ledger{endpoint, graph, active}}.run();
}

void check_partners(comm::Endpoint& endpoint, const Graph& graph, std::span<const Task> active) {
  const std::vector<LonelyMessage> lonely = find_lonely_messages(endpoint, graph, active);
  std::array<std::uint32_t, 1> first_to_know{lonely.empty() ? endpoint.rank_count() : endpoint.self().value()};
  comm::all_reduce(comm::Group{endpoint}, std::span{first_to_know}, comm::Minimum{}).wait();
  if (first_to_know[0] == endpoint.rank_count()) {
    return;
  }
  if (lonely.empty()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("messages of other ranks lack a partner: see the error of rank {}", first_to_know[0]),
                Rank{first_to_know[0]}};
  }
  std::string names;
  for (std::size_t index = 0; index < std::min(lonely.size(), named_max); ++index) {
    names += (index > 0 ? "; " : "") + to_string(lonely[index]);
  }
  throw Error{
      ErrorCode::bad_argument,
      fmt::format("rank {} has {} without a partner: {}{}. Do both ranks decide by the same data what is active?",
                  endpoint.self().value(),
                  described(static_cast<std::uint32_t>(lonely.size()), "message", ""),
                  names,
                  lonely.size() > named_max ? "; ..." : ""),
      endpoint.self()};
}

}  // namespace plait::task
