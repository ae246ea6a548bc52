// SPDX-License-Identifier: Apache-2.0
#include "plait/task/partner_check.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
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

/// A message in a list; the names of its kinds follow.
struct Item {
  Tag tag;
  comm::CommId comm;
  std::uint32_t send_count;
  std::uint32_t receive_count;
  std::uint32_t send_kind_size;
  std::uint32_t receive_kind_size;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Item) == 32, "without padding, as it is sent");

Bytes packed(std::span<const LonelyMessage> messages) {
  Bytes bytes;
  const auto append = [&bytes](const auto& values) {
    const auto raw = std::as_bytes(std::span{values});
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  for (const LonelyMessage& message : messages) {
    append(std::array{Item{.tag = message.tag,
                           .comm = message.comm,
                           .send_count = message.send_count,
                           .receive_count = message.receive_count,
                           .send_kind_size = static_cast<std::uint32_t>(message.send_kind.size()),
                           .receive_kind_size = static_cast<std::uint32_t>(message.receive_kind.size())}});
    append(message.send_kind);
    append(message.receive_kind);
  }
  return bytes;
}

std::vector<LonelyMessage> unpacked(const Bytes& bytes, Rank source, Rank destination) {
  std::vector<LonelyMessage> messages;
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  for (std::size_t at = 0; at < bytes.size();) {
    Item item{};
    std::memcpy(static_cast<void*>(&item), text + at, sizeof item);
    at += sizeof item;
    messages.push_back({.source = source,
                        .destination = destination,
                        .tag = item.tag,
                        .comm = item.comm,
                        .send_count = item.send_count,
                        .receive_count = item.receive_count,
                        .send_kind = {text + at, item.send_kind_size},
                        .receive_kind = {text + at + item.send_kind_size, item.receive_kind_size}});
    at += item.send_kind_size + item.receive_kind_size;
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

/// Returns which messages from `source` to this rank, `self`, lack a partner. `sends` have no receives yet. Wildcard
/// receives take what no other receive matches.
std::vector<LonelyMessage> compare(
    Rank source, Rank self, std::span<const LonelyMessage> sends, Tallies receives, Tallies& from_any) {
  std::vector<LonelyMessage> lonely;
  for (const LonelyMessage& send : sends) {
    const Name name{send.comm, send.tag};
    const Name with_any_tag{send.comm, any_tag};
    const auto partner = receives.find(name);
    const Tally receive = partner != receives.end() ? std::exchange(partner->second, {}) : Tally{};
    std::uint32_t left = send.send_count - std::min(send.send_count, receive.count);
    for (Tallies* const tallies : {&receives, &from_any}) {
      left -= take_out(*tallies, name, left);
      left -= take_out(*tallies, with_any_tag, left);
    }
    if (left > 0 || receive.count > send.send_count) {
      LonelyMessage& message = lonely.emplace_back(send);
      message.receive_count = std::max(receive.count, send.send_count - left);
      message.receive_kind = receive.kind;
    }
  }
  for (const auto& [name, receive] : receives) {
    if (receive.count > 0) {
      lonely.push_back({.source = source,
                        .destination = self,
                        .tag = name.tag,
                        .comm = name.comm,
                        .receive_count = receive.count,
                        .receive_kind = receive.kind});
    }
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
    Tallies none;
    note(compare(any_source, endpoint_.self(), {}, ledger_.receives_from_any, none));
    receive_verdicts();
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
        std::vector<LonelyMessage> list;
        for (const auto& [name, tally] : ledger_.sends[peer]) {
          list.push_back({.tag = name.tag, .comm = name.comm, .send_count = tally.count, .send_kind = tally.kind});
        }
        send(peer, list_tag, packed(list));
      }
    }
  }

  /// The receiver judges: it alone knows what its receives from any rank may take.
  void judge(Rank source) {
    const std::size_t peer = source.value();
    if (agrees_what_i_receive(peer)) {
      return;
    }
    const std::vector<LonelyMessage> list = unpacked(receive(source, list_tag), source, endpoint_.self());
    auto lonely = compare(source, endpoint_.self(), list, ledger_.receives[peer], ledger_.receives_from_any);
    send(peer, verdict_tag, packed(lonely));
    note(std::move(lonely));
  }

  void note(std::vector<LonelyMessage>&& lonely) { std::ranges::move(lonely, std::back_inserter(lonely_)); }

  void receive_verdicts() {
    for (std::uint32_t peer = 0; peer < mine_.size(); ++peer) {
      if (agrees_what_i_send(peer)) {
        continue;
      }
      const Bytes verdict = receive(Rank{peer}, verdict_tag);
      if (Rank{peer} != endpoint_.self()) {  // else it is in the list
        note(unpacked(verdict, endpoint_.self(), Rank{peer}));
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
