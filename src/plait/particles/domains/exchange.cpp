// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/particles/store/checks.hpp"
#include "plait/particles/store/detail/inside.hpp"

namespace plait::particles {
namespace {

using comm::AsyncOperation;
using comm::Endpoint;
using comm::Request;
using Index = Particles::Index;

/// The part after `from` on the way to `to`, of `n` parts.
std::uint32_t toward(std::uint32_t from, std::uint32_t to, std::uint32_t n, bool is_closed) {
  if (!is_closed) {
    return from < to ? from + 1 : from - 1;
  }
  const std::uint32_t ahead = (to + n - from) % n;
  return ahead <= n / 2 ? (from + 1) % n : (from + n - 1) % n;
}

/// Rows of particles as they are in a message: a count, then what `Particles::pack` wrote.
struct Rows {
  std::uint64_t count = 0;
  std::span<const std::byte> columns;
};

void append_count(std::uint64_t count, Bytes& to) {
  const auto bytes = std::as_bytes(std::span{&count, 1});
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// All rows in `message`. Throws: `Error` with `network`.
std::vector<Rows> rows_of(std::span<const std::byte> message, std::size_t row_bytes, Rank from) {
  std::vector<Rows> all;
  while (!message.empty()) {
    Rows rows;
    const bool has_count = message.size() >= sizeof rows.count;
    if (has_count) {
      std::memcpy(&rows.count, message.data(), sizeof rows.count);
      message = message.subspan(sizeof rows.count);
    }
    if (!has_count || rows.count > message.size() / row_bytes) {
      throw Error{ErrorCode::network, "a message of particles is truncated: do all ranks have the same fields?", from};
    }
    rows.columns = message.first(rows.count * row_bytes);
    message = message.subspan(rows.count * row_bytes);
    all.push_back(rows);
  }
  return all;
}

/// Appends some of `rows` to a message.
void append_chosen(const Rows& rows, std::span<const Index> chosen, const Particles& store, Bytes& to) {
  if (chosen.empty()) {
    return;
  }
  append_count(chosen.size(), to);
  const std::byte* column = rows.columns.data();
  for (std::uint32_t field = 0; field < store.field_count(); ++field) {
    const std::size_t bytes = store.bytes_of_column(field);
    for (const Index row : chosen) {
      to.insert(to.end(), column + row * bytes, column + (row + std::size_t{1}) * bytes);
    }
    column += rows.count * bytes;
  }
}

}  // namespace

ParticleExchange::ParticleExchange(Endpoint& messages, const Space& space, Particles& store)
    : endpoint_{messages}, space_{space}, store_{store}, comms_{messages.claim_comms(1)} {
  space.check();
}

void ParticleExchange::begin_search(const Domain& domain, std::uint32_t pieces) {
  expect(pieces > 0, "a search has at least one piece");
  domain_ = &domain;
  found_.resize(pieces);
}

void ParticleExchange::search_piece(std::uint32_t piece) {
  std::vector<Leaver>& found = found_[piece];
  found.clear();
  const std::span<Vector> positions = store_.positions();
  std::optional<detail::CylindricalInside> inside;
  if (space_.coordinates == Coordinates::cylindrical) {
    inside.emplace(domain_->box());
  }
  const std::size_t first = positions.size() * piece / found_.size();
  const std::size_t last = positions.size() * (piece + std::size_t{1}) / found_.size();
  for (std::size_t i = first; i < last; ++i) {
    check_position(positions[i], store_.ids()[i]);
  }
  if (space_.is_periodic()) {
    space_.wrap(store_, first, last);
  }
  for (std::size_t i = first; i < last; ++i) {
    if (inside && inside->surely_has(positions[i])) {
      continue;
    }
    if (const std::optional<Hop> hop = domain_->hop(space_.place(positions[i]))) {
      found.push_back({static_cast<Index>(i), *hop});
    }
  }
}

/// Whether a message may be for any part along `axis`. The ranks at both ends agree, as they have the same slab.
bool ParticleExchange::goes_anywhere(std::size_t axis) const {
  const std::uint32_t slab = domain_->parts()[0];
  const bool is_at_end = slab == 0 || slab + 1 == domain_->grid().counts()[0];
  return travel_ == Travel::everywhere || (space_.has_shear() && axis == 1 && is_at_end);
}

ParticleExchange::Partner& ParticleExchange::partner_towards(const Hop& hop) {
  const std::uint32_t n = domain_->grid().counts()[hop.axis];
  const std::uint32_t next = goes_anywhere(hop.axis)
                                 ? hop.part
                                 : toward(domain_->parts()[hop.axis], hop.part, n, space_.closed_axes()[hop.axis]);
  const auto partner = std::ranges::find(partners_[hop.axis], next, &Partner::part);
  expect(partner != partners_[hop.axis].end(), "each next part is a partner's");
  return *partner;
}

Request ParticleExchange::move(Travel travel) {
  expect(domain_ != nullptr, "a search precedes each move");
  travel_ = travel;
  ++counts_.exchanges;
  const std::array<std::uint32_t, 3> counts = domain_->grid().counts();
  const std::array<bool, 3> closed = space_.closed_axes();
  for (std::uint8_t axis = 0; axis < 3; ++axis) {
    partners_[axis].clear();
    const std::uint32_t own = domain_->parts()[axis];
    for (std::uint32_t part = 0; part < counts[axis]; ++part) {
      const std::uint32_t apart = part > own ? part - own : own - part;
      const bool is_next = apart == 1 || (closed[axis] && apart + 1 == counts[axis]);
      if (part != own && (goes_anywhere(axis) || is_next)) {
        partners_[axis].push_back({domain_->rank_of({axis, part}), part, {}, {}, {}});
      }
    }
  }
  leavers_.clear();
  for (const Leaver& leaver : found_ | std::views::join) {
    partner_towards(leaver.hop).places.push_back(leaver.place);
    leavers_.push_back(leaver.place);
  }
  for (Partner& partner : partners_ | std::views::join) {
    if (!partner.places.empty()) {
      append_count(partner.places.size(), partner.leaving);
      store_.pack(partner.places, partner.leaving);
    }
  }
  staying_.clear();
  return run();
}

/// Particles that arrived along `axis` stay, or travel along a later axis.
void ParticleExchange::sort_out(const Partner& partner, std::uint8_t axis) {
  std::vector<Index> stay;
  for (const Rows& rows : rows_of(partner.arriving, store_.row_bytes(), partner.rank)) {
    stay.clear();
    std::map<std::pair<std::uint8_t, std::uint32_t>, std::vector<Index>> go_on;  // by axis and part
    for (std::uint64_t row = 0; row < rows.count; ++row) {
      Vector position;  // in the first column
      std::memcpy(&position, rows.columns.data() + row * sizeof position, sizeof position);
      const std::optional<Hop> hop = domain_->hop(space_.place(position));
      std::vector<Index>& chosen = hop && hop->axis > axis ? go_on[{hop->axis, hop->part}] : stay;
      chosen.push_back(static_cast<Index>(row));
    }
    append_chosen(rows, stay, store_, staying_);
    for (const auto& [to, chosen] : go_on) {
      append_chosen(rows, chosen, store_, partner_towards({to.first, to.second}).leaving);
    }
  }
}

AsyncOperation ParticleExchange::run() {
  for (std::uint8_t axis = 0; axis < 3; ++axis) {
    std::vector<Request> requests;
    for (Partner& partner : partners_[axis]) {
      const comm::Address address{partner.rank, Tag{axis}, comms_[0]};
      requests.push_back(endpoint_.receive(address, partner.arriving));
      requests.push_back(endpoint_.send(address, std::span<const std::byte>{partner.leaving}));
      ++counts_.messages;
      counts_.bytes += partner.leaving.size();
    }
    for (Request& request : requests) {
      co_await request;
    }
    for (const Partner& partner : partners_[axis]) {
      sort_out(partner, axis);
    }
  }
}

void ParticleExchange::finish() {
  store_.remove_unordered(leavers_);
  leavers_.clear();
  for (const Rows& rows : rows_of(staying_, store_.row_bytes(), endpoint_.self())) {
    store_.unpack(rows.columns);
  }
  staying_.clear();
}

void ParticleExchange::search(const Domain& domain) {
  begin_search(domain, 1);
  search_piece(0);
}

}  // namespace plait::particles
