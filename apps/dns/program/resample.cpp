// SPDX-License-Identifier: Apache-2.0
#include "dns/program/resample.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dns/modes.hpp"

namespace dns {
namespace {

using plait::fft::Plan;

struct PlacedMode {
  std::array<Index, 3> place{};
  std::complex<double> value;
};

/// The place of a wave number of an axis of `from` points on one of `to`; nothing if there is none.
std::optional<Index> move_place(Index place, Index from, Index to) {
  const Index k = wave_number(place, from);
  const Index least = std::min(from, to);
  if (2 * k >= least || 2 * k <= -least) {
    return std::nullopt;
  }
  return k < 0 ? k + to : k;
}

std::vector<PlacedMode> send_to_owners(plait::comm::Endpoint& endpoint,
                                       const std::vector<std::vector<PlacedMode>>& to) {
  const plait::Group all{endpoint};
  std::vector<std::uint64_t> sent(to.size());
  std::vector<std::uint64_t> received(to.size());
  std::transform(to.begin(), to.end(), sent.begin(), [](const auto& modes) { return modes.size(); });
  plait::all_to_all(all, std::span<const std::uint64_t>{sent}, std::span<std::uint64_t>{received}).wait();
  std::uint64_t total = 0;
  for (const std::uint64_t count : received) {
    total += count;
  }
  std::vector<PlacedMode> modes(total);
  plait::comm::BlocksToSend blocks_to;
  plait::comm::BlocksToReceive blocks_from;
  std::span<PlacedMode> rest{modes};
  for (std::size_t member = 0; member < to.size(); ++member) {
    blocks_to.push_back(std::as_bytes(std::span{to[member]}));
    blocks_from.push_back(std::as_writable_bytes(rest.first(received[member])));
    rest = rest.subspan(received[member]);
  }
  plait::all_to_all(all, std::move(blocks_to), std::move(blocks_from)).wait();
  return modes;
}

}  // namespace

void resample(plait::comm::Endpoint& endpoint,
              const Plan& from_plan,
              std::span<const std::complex<double>> from,
              const Plan& to_plan,
              std::span<std::complex<double>> to) {
  const LineOwners owners{to_plan.spectral().lengths, to_plan.grid()};
  std::vector<std::vector<PlacedMode>> out(endpoint.rank_count());
  const Layout& layout = from_plan.spectral();
  const std::array<Index, 3> n_from{layout.lengths[0], layout.lengths[1], from_plan.physical().lengths[2]};
  const std::array<Index, 3> n_to{
      to_plan.spectral().lengths[0], to_plan.spectral().lengths[1], to_plan.physical().lengths[2]};
  for (Index i0 = layout.box.low[0]; i0 < layout.box.high[0]; ++i0) {
    for (Index i1 = layout.box.low[1]; i1 < layout.box.high[1]; ++i1) {
      for (Index i2 = layout.box.low[2]; i2 < layout.box.high[2]; ++i2) {
        const auto x = move_place(i0, n_from[0], n_to[0]);
        const auto y = move_place(i1, n_from[1], n_to[1]);
        const auto z = move_place(i2, n_from[2], n_to[2]);
        if (x && y && z) {
          const std::uint32_t owner = owners.of(static_cast<std::size_t>(*y), static_cast<std::size_t>(*z));
          out[owner].push_back({{*x, *y, *z}, from[static_cast<std::size_t>(layout.offset(i0, i1, i2))]});
        }
      }
    }
  }
  std::fill(to.begin(), to.end(), std::complex<double>{});
  for (const PlacedMode& mode : send_to_owners(endpoint, out)) {
    to[static_cast<std::size_t>(to_plan.spectral().offset(mode.place[0], mode.place[1], mode.place[2]))] = mode.value;
  }
}

}  // namespace dns
