// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/buddy.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/agree.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/collections/engine/all_ranks.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data {
namespace {

using detail::all_gather_any;

constexpr Tag copy_tag{1};
constexpr Tag recover_tag{2};

using Copy = BuddyMemory::Copy;

/// A copy without its state.
struct Entry {
  std::uint64_t generation = 0;
  std::uint32_t of = 0;
  std::uint32_t rank_count = 0;
};

/// A part of a generation: the rank that sends it, and the one that gets it.
struct Part {
  std::uint32_t holder = 0;
  std::uint32_t target = 0;
};

struct Plan {
  std::uint64_t generation = 0;
  std::vector<Part> parts;  ///< By owner.
};

struct Generation {
  std::uint32_t rank_count = 0;
  std::map<std::uint32_t, std::vector<std::uint32_t>> holders;  ///< By owner.
};

std::map<std::uint64_t, Generation> gather_generations(const comm::Group& group, const BuddyMemory& memory) {
  std::vector<Entry> mine;
  for (const Copy& copy : memory.copies) {
    mine.push_back({copy.generation, copy.rank.value(), copy.rank_count});
  }
  std::map<std::uint64_t, Generation> generations;
  const std::vector<Bytes> all = all_gather_any(group, pack(mine));
  for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
    for (const Entry& entry : unpack_as<std::vector<Entry>>(all[rank])) {
      Generation& generation = generations[entry.generation];
      generation.rank_count = entry.rank_count;
      generation.holders[entry.of].push_back(rank);
    }
  }
  return generations;
}

/// The same on all ranks.
Plan make_plan(std::uint64_t number, const Generation& generation, std::uint32_t rank_count) {
  Plan plan{.generation = number};
  std::vector<std::uint32_t> given(rank_count);
  for (const auto& [of, holders] : generation.holders) {
    Part part{.holder = holders.front(), .target = of};
    if (generation.rank_count == rank_count) {
      part.holder = std::ranges::find(holders, of) != holders.end() ? of : holders.front();
    } else {
      part.holder = *std::ranges::min_element(holders, {}, [&](std::uint32_t rank) { return given[rank]; });
      part.target = part.holder;
    }
    ++given[part.target];
    plan.parts.push_back(part);
  }
  return plan;
}

Plan find_newest(const comm::Group& group, const BuddyMemory& memory) {
  const std::map<std::uint64_t, Generation> generations = gather_generations(group, memory);
  std::string missing;
  for (auto one = generations.rbegin(); one != generations.rend(); ++one) {
    const auto& [number, generation] = *one;
    if (generation.holders.size() == generation.rank_count) {
      return make_plan(number, generation, static_cast<std::uint32_t>(group.size()));
    }
    for (std::uint32_t rank = 0; rank < generation.rank_count && missing.empty(); ++rank) {
      missing = generation.holders.contains(rank) ? "" : fmt::format(": the copy of rank {} is lost", rank);
    }
  }
  throw Error{ErrorCode::bad_input,
              fmt::format("no generation of copies in memory is complete{}; restart from the last checkpoint file",
                          missing.empty() ? ": there is none" : missing)};
}

const Bytes& state_of(const BuddyMemory& memory, std::uint64_t generation, std::uint32_t rank) {
  const auto found = std::ranges::find_if(
      memory.copies, [&](const Copy& copy) { return copy.generation == generation && copy.rank == Rank{rank}; });
  expect(found != memory.copies.end(), "a rank has the copies that it reported");
  return found->state;
}

Checkpoint recover_in(const comm::Group& group, const BuddyMemory& memory) {
  const Plan plan = find_newest(group, memory);
  const auto self = static_cast<std::uint32_t>(group.self());
  comm::Endpoint& endpoint = group.endpoint();
  // Also a rank that gets no part needs the values.
  Bytes common;
  if (plan.parts.front().holder == self) {
    Checkpoint empty = unpack_as<Checkpoint>(state_of(memory, plan.generation, 0));
    for (PackedElements& one : empty.collections) {
      one = {.collection = one.collection, .type = one.type, .shape = one.shape};
    }
    common = pack(empty);
  }
  std::vector<comm::Request> requests;
  std::map<std::uint32_t, Bytes> received;
  for (std::uint32_t of = 0; of < plan.parts.size(); ++of) {
    const Part& part = plan.parts[of];
    const Tag tag{recover_tag.value() + of};
    if (part.holder == self && part.target != self) {
      requests.push_back(endpoint.send({Rank{part.target}, tag, group.comm()}, state_of(memory, plan.generation, of)));
    } else if (part.target == self && part.holder != self) {
      requests.push_back(endpoint.receive({Rank{part.holder}, tag, group.comm()}, received[of]));
    }
  }
  Checkpoint whole = unpack_as<Checkpoint>(all_gather_any(group, common)[plan.parts.front().holder]);
  for (comm::Request& request : requests) {
    request.wait_released();
  }
  for (std::uint32_t of = 0; of < plan.parts.size(); ++of) {
    if (plan.parts[of].target != self) {
      continue;
    }
    const auto came = received.find(of);
    const Checkpoint part =
        unpack_as<Checkpoint>(came != received.end() ? came->second : state_of(memory, plan.generation, of));
    for (std::size_t at = 0; at < whole.collections.size(); ++at) {
      whole.collections[at].append(part.collections[at]);
    }
  }
  return whole;
}

}  // namespace

BuddyCopies::BuddyCopies(comm::Endpoint& endpoint, std::uint64_t generation)
    : group_{endpoint}, generation_{generation} {}

Rank BuddyCopies::partner() const noexcept {
  const auto ranks = static_cast<std::uint32_t>(group_.size());
  return Rank{static_cast<std::uint32_t>((group_.self() + std::max(1U, ranks / 2)) % ranks)};
}

void BuddyCopies::copy(const Checkpoint& checkpoint) {
  const auto ranks = static_cast<std::uint32_t>(group_.size());
  const auto self = static_cast<std::uint32_t>(group_.self());
  const std::uint32_t away = std::max(1U, ranks / 2);
  const Rank from{(self + ranks - away % ranks) % ranks};
  struct UnderWay {
    Copy mine;
    Copy theirs;
  };
  const auto copies =
      std::make_shared<UnderWay>(UnderWay{{++generation_, Rank{self}, ranks, {}}, {generation_, from, ranks, {}}});
  comm::agree(group_, [&] { copies->mine.state = pack(checkpoint); });
  if (ranks > 1) {
    comm::Endpoint& endpoint = group_.endpoint();
    try {
      comm::Request receive = endpoint.receive({from, copy_tag, group_.comm()}, copies->theirs.state);
      endpoint.send({partner(), copy_tag, group_.comm()}, copies->mine.state).wait();
      receive.wait_released();
    } catch (const Error&) {
      endpoint.keep(copies);  // messages may be in flight from and to it
      throw;
    }
    memory_.copies.push_back(std::move(copies->theirs));
  }
  memory_.copies.push_back(std::move(copies->mine));
  // The old generation is deleted when all ranks have the new one.
  comm::barrier(group_).wait();
  std::erase_if(memory_.copies, [this](const Copy& copy) { return copy.generation != generation_; });
}

Checkpoint BuddyCopies::roll_back() {
  return recover_in(group_, memory_);
}

Checkpoint recover(comm::Endpoint& endpoint, const BuddyMemory& memory) {
  return recover_in(comm::Group{endpoint}, memory);
}

}  // namespace plait::data
