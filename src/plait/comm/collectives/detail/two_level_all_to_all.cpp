// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "plait/comm/collectives/detail/all_to_all.hpp"
#include "plait/comm/coroutine.hpp"

// For each other node, one rank of this node, the carrier, collects what all ranks here send there, as one message to
// one rank there, which hands it out. Nodes have carriers in turn, so that all ranks share the work. What ranks on one
// node send each other goes directly.
//
// A bundle begins with the sizes of its blocks, 8 bytes each, one for each member of the other node; then the blocks. A
// freight is the bundles of all members of one node, in their order.

namespace plait::comm::detail {

namespace {

enum Phase : unsigned { in_node, to_carrier, between_nodes, from_carrier };

/// A carrier hands out freights as they come: each node's has a phase of its own.
constexpr unsigned phase_from_carrier(std::size_t node) {
  return from_carrier + static_cast<unsigned>(node);
}

/// The members on each node.
class NodeMap {
 public:
  explicit NodeMap(const Call& call) : self_{call.self()}, node_of_{call.nodes()} {
    for (std::size_t member = 0; member < node_of_.size(); ++member) {
      members_.resize(std::max<std::size_t>(members_.size(), node_of_[member] + 1));
      members_[node_of_[member]].push_back(member);
    }
  }

  [[nodiscard]] std::size_t count() const { return members_.size(); }
  [[nodiscard]] std::size_t own() const { return node_of_[self_]; }
  [[nodiscard]] const std::vector<std::size_t>& members(std::size_t node) const { return members_[node]; }
  /// The member on `node` that talks with `other`.
  [[nodiscard]] std::size_t carrier(std::size_t node, std::size_t other) const {
    return members_[node][other % members_[node].size()];
  }
  [[nodiscard]] bool carries_for(std::size_t other) const { return carrier(own(), other) == self_; }
  /// The node `distance` behind this one; `before` likewise.
  [[nodiscard]] std::size_t after(std::size_t distance) const { return (own() + distance) % count(); }
  [[nodiscard]] std::size_t before(std::size_t distance) const { return (own() + count() - distance) % count(); }

 private:
  std::size_t self_;
  std::vector<std::uint32_t> node_of_;
  std::vector<std::vector<std::size_t>> members_;
};

using Sizes = std::vector<std::uint64_t>;

using Parts = std::vector<std::span<const std::byte>>;

/// Blocks of one rank for several, or of several for one, and their sizes, which travel with them.
struct Bundle {
  Bundle() = default;
  Bundle(Bundle&&) = default;  // the sizes stay where they are
  Bundle& operator=(Bundle&&) = default;
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;
  ~Bundle() = default;

  void add(std::span<const std::byte> block) {
    sizes.push_back(block.size());
    blocks.push_back(block);
  }
  /// The message. Refers to the sizes here.
  [[nodiscard]] Parts parts() const {
    Parts parts{std::as_bytes(std::span{sizes})};
    parts.insert(parts.end(), blocks.begin(), blocks.end());
    return parts;
  }

  Sizes sizes;
  Parts blocks;
};

/// What this rank sends to the members of one other node.
Bundle bundle_for(const AllToAll& exchange, const std::vector<std::size_t>& members) {
  Bundle bundle;
  for (const std::size_t member : members) {
    bundle.add(exchange.to[member]);
  }
  return bundle;
}

/// Of each member of this node, its blocks in `freight`; nothing when the freight makes no sense.
std::optional<std::vector<Bundle>> unpack(std::span<const std::byte> freight,
                                          std::size_t sources,
                                          std::size_t members) {
  std::vector<Bundle> shares(members);
  Sizes sizes(members);
  for (std::size_t source = 0; source < sources; ++source) {
    const std::size_t header_bytes = sizes.size() * sizeof sizes[0];
    if (freight.size() < header_bytes) {
      return {};
    }
    std::memcpy(sizes.data(), freight.data(), header_bytes);
    freight = freight.subspan(header_bytes);
    for (std::size_t member = 0; member < members; ++member) {
      if (freight.size() < sizes[member]) {
        return {};
      }
      shares[member].add(freight.first(sizes[member]));
      freight = freight.subspan(sizes[member]);
    }
  }
  return freight.empty() ? std::optional{std::move(shares)} : std::nullopt;
}

using Nodes = std::shared_ptr<const NodeMap>;

/// Collects the bundles of this node for `other`, this rank's own among them, and sends them there.
AsyncOperation carry_out(Endpoint& /*endpoint*/, Call call, Nodes nodes, std::size_t other, Bundle own) {
  const std::vector<std::size_t>& here = nodes->members(nodes->own());
  std::vector<Bytes> bundles(here.size());
  std::vector<Request> receives(here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (here[i] != call.self()) {
      receives[i] = call.receive(here[i], bundles[i], to_carrier);
    }
  }
  Parts freight;
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (here[i] == call.self()) {
      const Parts parts = own.parts();
      freight.insert(freight.end(), parts.begin(), parts.end());
      continue;
    }
    Request next = std::move(receives[i]);
    co_await call.end_of(std::move(next));
    freight.emplace_back(bundles[i]);
  }
  if (call.has_failed()) {
    freight.clear();  // the receivers find out
  }
  Request sent = call.send(nodes->carrier(other, nodes->own()), Layout::blocks(std::move(freight)), between_nodes);
  co_await call.end_of(std::move(sent));
  call.throw_if_failed();
}

/// Receives the freight of `other` and hands it out on this node.
AsyncOperation carry_in(Endpoint& /*endpoint*/, Call call, Nodes nodes, std::size_t other) {
  const std::vector<std::size_t>& here = nodes->members(nodes->own());
  Bytes freight;
  Request received = call.receive(nodes->carrier(other, nodes->own()), freight, between_nodes);
  co_await call.end_of(std::move(received));
  std::optional<std::vector<Bundle>> shares = unpack(freight, nodes->members(other).size(), here.size());
  if (!shares) {
    call.note(ErrorCode::bad_argument);
    shares.emplace(here.size());  // those who wait find out
  }
  std::vector<Request> sends;
  for (std::size_t i = 0; i < here.size(); ++i) {
    sends.push_back(call.send(here[i], Layout::blocks((*shares)[i].parts()), phase_from_carrier(other)));
  }
  for (Request& request : sends) {
    Request next = std::move(request);
    co_await call.end_of(std::move(next));
  }
  call.throw_if_failed();
}

/// What comes to this rank in one message: one block of its own node, or all of another node.
struct Arrival {
  std::vector<std::size_t> sources;
  Sizes sizes;  ///< As they came, of another node.
  std::size_t bytes = 0;
  Request request;
};

Arrival receive_from_node(AllToAll& exchange, const NodeMap& nodes, std::size_t other) {
  Arrival arrival;
  arrival.sources = nodes.members(other);
  arrival.sizes.resize(arrival.sources.size());
  std::vector<std::span<std::byte>> parts{std::as_writable_bytes(std::span{arrival.sizes})};
  for (const std::size_t source : arrival.sources) {
    parts.push_back(exchange.from[source]);
  }
  Layout layout = Layout::blocks(std::move(parts));
  arrival.bytes = layout.size();
  const std::size_t carrier = nodes.carrier(nodes.own(), other);
  arrival.request = exchange.call.receive(carrier, std::move(layout), phase_from_carrier(other));
  return arrival;
}

/// Posts all receives of this rank's own blocks.
std::vector<Arrival> post_receives(AllToAll& exchange, const NodeMap& nodes) {
  std::vector<Arrival> arrivals;
  for (const std::size_t member : nodes.members(nodes.own())) {
    if (member != exchange.call.self()) {
      const std::span<std::byte> block = exchange.from[member];
      arrivals.push_back({{member}, {}, block.size(), exchange.call.receive(member, block, in_node)});
    }
  }
  for (std::size_t distance = 1; distance < nodes.count(); ++distance) {
    arrivals.push_back(receive_from_node(exchange, nodes, nodes.before(distance)));
  }
  return arrivals;
}

/// Whether each source means a block of the size that is expected of it.
bool fits(const AllToAll& exchange, const Arrival& arrival) {
  for (std::size_t i = 0; i < arrival.sizes.size(); ++i) {
    if (arrival.sizes[i] != exchange.from[arrival.sources[i]].size()) {
      return false;
    }
  }
  return true;
}

/// Posts all sends of this rank's own blocks, and what it carries for others. `bundles` holds what is sent.
std::vector<Request> post_sends(AllToAll& exchange, const Nodes& nodes, std::vector<Bundle>& bundles) {
  Call& call = exchange.call;
  std::vector<Request> sends;
  bundles.reserve(nodes->count());
  for (std::size_t distance = 1; distance < nodes->count(); ++distance) {
    const std::size_t other = nodes->after(distance);
    Bundle bundle = bundle_for(exchange, nodes->members(other));
    if (nodes->carries_for(other)) {
      sends.emplace_back(carry_out(call.endpoint(), call, nodes, other, std::move(bundle)));
      sends.emplace_back(carry_in(call.endpoint(), call, nodes, other));
    } else {
      bundles.push_back(std::move(bundle));
      const std::size_t carrier = nodes->carrier(nodes->own(), other);
      sends.push_back(call.send(carrier, Layout::blocks(bundles.back().parts()), to_carrier));
    }
  }
  for (const std::size_t member : nodes->members(nodes->own())) {
    if (member != call.self()) {
      sends.push_back(call.send(member, exchange.to[member], in_node));
    }
  }
  return sends;
}

AsyncOperation two_level(Endpoint& /*endpoint*/, AllToAll exchange) {
  Call& call = exchange.call;
  const Nodes nodes = std::make_shared<const NodeMap>(call);
  exchange.take_own();
  std::vector<Arrival> arrivals = post_receives(exchange, *nodes);
  std::vector<Bundle> bundles;
  std::vector<Request> sends = post_sends(exchange, nodes, bundles);
  for (Arrival& arrival : arrivals) {
    Request next = std::move(arrival.request);
    const bool is_whole = co_await call.end_of(std::move(next), arrival.bytes);
    if (!is_whole) {
      continue;
    }
    if (!fits(exchange, arrival)) {
      call.note(ErrorCode::bad_argument);
      continue;
    }
    for (const std::size_t source : arrival.sources) {
      exchange.tell(source);
    }
  }
  for (Request& request : sends) {
    Request next = std::move(request);
    co_await call.end_of(std::move(next));
  }
  call.throw_if_failed();
}

}  // namespace

Request two_level_all_to_all(AllToAll exchange) {
  Endpoint& endpoint = exchange.call.endpoint();
  return two_level(endpoint, std::move(exchange));
}

}  // namespace plait::comm::detail
