// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/agree.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/net/exchange.hpp"

namespace plait::comm {

void agree(const Group& group, const std::function<void()>& work) {
  const auto exchange = [&group](std::span<const std::byte> mine) {
    std::vector<std::uint64_t> sizes(group.size());
    const std::uint64_t size = mine.size();
    all_gather(group, std::span{&size, 1}, std::span{sizes}).wait();
    std::vector<Bytes> all(group.size());
    std::vector<std::span<std::byte>> blocks;
    std::uint64_t total = 0;
    for (std::size_t member = 0; member < all.size(); ++member) {
      all[member].resize(sizes[member]);
      blocks.emplace_back(all[member]);
      total += sizes[member];
    }
    if (total > 0) {  // otherwise nothing has failed
      all_gather(group, mine, std::move(blocks)).wait();
    }
    group.endpoint().flush();
    return all;
  };
  if (const std::optional<Error> error = net::first_error(exchange, work)) {
    throw Error{error->code(), error->what(), group.rank(error->rank().value())};
  }
}

}  // namespace plait::comm
