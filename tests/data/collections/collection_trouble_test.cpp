// SPDX-License-Identifier: Apache-2.0
// What goes wrong in a collection ends on all ranks with a sentence, or is counted; and what is odd but right works.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/collectives/reduce.hpp"
#include "plait/data/balance/balancers.hpp"
#include "plait/data/balance/rebalancer.hpp"
#include "plait/data/collections/collection.hpp"
#include "plait/testing/local_rank.hpp"

#include "data/leaks_allowed.hpp"

namespace plait::data::collection_trouble_test {
namespace {

using plait::test::errors_on_ranks;
using plait::test::LocalRank;
using plait::test::run_on_ranks;

enum class Fault : std::uint32_t { none, packs_more, packs_less, unpacks_more, pack_throws, unpack_throws };

/// Reads more than it has written.
struct Garbled {
  std::uint32_t value = 0;
  template <class Archive>
  void save(Archive& archive) const {
    archive(value);
  }
  template <class Archive>
  void load(Archive& archive) {
    std::uint64_t more = 0;
    archive(value, more);
  }
};

struct Thing {
  Fault fault = Fault::none;
  std::uint64_t taken = 0;
  std::uint64_t bytes = 0;
  std::uint64_t mistakes = 0;

  void take(std::uint64_t number, const std::vector<std::uint8_t>& data) {
    mistakes += number == taken % 100 && std::ranges::all_of(data, [&](auto b) { return b == number; }) ? 0U : 1U;
    ++taken;
    bytes += data.size();
  }
  void hear() { ++taken; }
  void take_garbled(const Garbled& /*garbled*/) {}
  void fail() { throw std::runtime_error{"no fields"}; }
};

/// How things move: with their fault.
struct Faulty {
  static std::size_t size(const Thing& /*thing*/) { return sizeof(Thing); }
  static void pack(const Thing& thing, Packer& packer) {
    if (thing.fault == Fault::pack_throws) {
      throw std::runtime_error{"nothing to pack"};
    }
    if (thing.fault == Fault::packs_less) {
      packer(thing.taken);
      return;
    }
    packer(thing.fault, std::uint32_t{0}, thing.taken, thing.bytes, thing.mistakes);
    if (thing.fault == Fault::packs_more) {
      packer(thing.taken);
    }
  }
  static void unpack(Thing& thing, Unpacker& unpacker) {
    std::uint32_t gap = 0;
    unpacker(thing.fault, gap, thing.taken, thing.bytes, thing.mistakes);
    if (thing.fault == Fault::unpacks_more) {
      unpacker(thing.taken);
    }
    if (thing.fault == Fault::unpack_throws) {
      throw std::runtime_error{"nowhere to go"};
    }
  }
};

using Things = Collection<Thing>;

Things make_things(LocalRank& rank, std::uint32_t count) {
  return {rank, Shape{count}, [](ElementId, Index) { return Thing{}; }, {.name = "things"}, MovesBy<Faulty>{}};
}

net::SimOptions rough(std::uint64_t seed) {
  return {
      .seed = seed, .delay_max = std::chrono::microseconds{30}, .order = net::SimOrder::free, .retry_probability = 0.1};
}

void move_all(Things& things, std::uint32_t to) {
  std::vector<Move> moves;
  for (const auto& [id, thing] : things.local()) {
    moves.push_back({id, Rank{to}});
  }
  (void)things.migrate(moves);
}

/// Element 4, of rank 1, has a fault, and all elements move.
void move_with(Things& things, Fault fault) {
  if (Thing* const thing = things.find(ElementId{4})) {
    thing->fault = fault;
  }
  move_all(things, 2);
}

/// Element 4 writes to element 0, which is on another rank.
template <auto method, class... Values>
void write_once(Things& things, Values... values) {
  things.each(
      [&](Thing&, ElementContext& context) {
        if (context.id() == ElementId{4}) {
          context.send<method>(ElementId{0}, values...);
        }
      },
      "write");
}

struct Case {
  std::string_view name;
  std::vector<std::string_view> said;
  std::function<void(Things&)> act;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"packs_more",
       {"element 4 of 'things' cannot be packed on rank 1", "Faulty::size returned 32 bytes", "but pack wrote 40"},
       [](Things& things) { move_with(things, Fault::packs_more); }},
      {"packs_less",
       {"element 4 of 'things' cannot be packed on rank 1", "but pack wrote 8"},
       [](Things& things) { move_with(things, Fault::packs_less); }},
      {"unpacks_more",
       {"element 4 of 'things' cannot be unpacked on rank 2", "32 bytes are no packed"},
       [](Things& things) { move_with(things, Fault::unpacks_more); }},
      {"pack_throws",
       {"element 4 of 'things' cannot be packed on rank 1: it threw: nothing to pack"},
       [](Things& things) { move_with(things, Fault::pack_throws); }},
      {"unpack_throws",
       {"element 4 of 'things' cannot be unpacked on rank 2: it threw: nowhere to go"},
       [](Things& things) { move_with(things, Fault::unpack_throws); }},
      {"message_does_not_unpack",
       {"element 0 of 'things' on rank 0", "phase 'write'", "4 bytes are no packed"},
       [](Things& things) { write_once<&Thing::take_garbled>(things, Garbled{}); }},
      {"method_throws",
       {"element 0 of 'things' on rank 0 threw in phase 'write': no fields"},
       [](Things& things) { write_once<&Thing::fail>(things); }},
      {"step_throws", {"element 4 of 'things' on rank 1 threw in phase 'steps': no step"}, [](Things& things) {
         things.iterate(
             5,
             [](const Thing&, std::uint64_t step) { return step == 0 ? 0U : 1U; },
             [](Thing&, ElementContext& context, std::uint64_t step) {
               if (step == 2 && context.id() == ElementId{4}) {
                 throw std::runtime_error{"no step"};
               }
               if (step < 4) {
                 context.send_step<&Thing::hear>(ElementId{(context.id().value() + 1) % 9}, step + 1);
               }
             },
             "steps");
       }}};
  return all;
}

TEST(CollectionTrouble, ends_the_run_on_all_ranks_with_a_sentence_that_names_the_element) {
  for (const Case& trouble : cases()) {
    const std::vector<std::string> errors =
        errors_on_ranks({.ranks = 3, .network = rough(5)}, {.worker_count = 2}, [&](LocalRank& rank) {
          const test::LeaksAllowed leaks;
          Things things = make_things(rank, 9);
          trouble.act(things);
          things.each([](Thing&) {});  // where ranks that were faster hear of it
        });
    for (const std::string& error : errors) {
      for (const std::string_view said : trouble.said) {
        EXPECT_NE(error.find(said), std::string::npos) << trouble.name << ": " << error;
      }
    }
  }
}

// ---- odd, but right ----

TEST(Collection, counts_what_is_on_its_way_to_an_element_that_ends) {
  run_on_ranks({.ranks = 3, .network = rough(3)}, {.worker_count = 2}, [](LocalRank& rank) {
    Things things = make_things(rank, 9);
    const std::vector<std::uint8_t> data(20'000, 0);  // longer than a packet
    for (const std::uint64_t phase : {0U, 1U, 2U}) {  // while it ends, and when it has
      const PhaseReport report = things.each([&](Thing&, ElementContext& context) {
        if (context.id() == ElementId{7}) {
          context.erase();
          return;
        }
        context.send<&Thing::take>(ElementId{7}, 0U, data);
        context.send<&Thing::hear>(ElementId{7});
      });
      std::array<std::uint64_t, 1> lost{report.lost_count};
      comm::all_reduce(things.group(), std::span{lost}).wait();
      EXPECT_EQ(lost[0], 16U) << phase;
      for (const LostMessage& each : report.lost) {
        EXPECT_EQ(each.to, ElementId{7});
      }
      move_all(things, static_cast<std::uint32_t>(phase));
    }
    EXPECT_EQ(things.count(), 8U);
  });
}

TEST(Collection, works_on_ranks_without_elements_and_without_any) {
  for (const std::uint32_t count : {0U, 1U, 3U}) {
    run_on_ranks({.ranks = 5, .network = rough(count)}, {.worker_count = 1}, [&](LocalRank& rank) {
      Things things =
          count == 0 ? Things{rank, Shape{}, {.name = "things"}, MovesBy<Faulty>{}} : make_things(rank, count);
      for (std::uint32_t to = 0; to < 5; ++to) {
        const PhaseReport report = things.each([&](Thing&, ElementContext& context) {
          context.send<&Thing::hear>(ElementId{(context.id().value() + 1) % count});
        });
        EXPECT_EQ(report.lost_count, 0U);
        things.iterate(
            3,
            [](const Thing&, std::uint64_t step) { return step == 0 ? 0U : 1U; },
            [&](Thing&, ElementContext& context, std::uint64_t step) {
              if (step < 2) {
                context.send_step<&Thing::hear>(ElementId{(context.id().value() + 1) % count}, step + 1);
              }
            });
        move_all(things, to);
        EXPECT_EQ(things.local_count(), rank.self() == Rank{to} ? count : 0U);
        EXPECT_EQ(things.count(), count);
        EXPECT_EQ(things.scan([](const Thing& thing) { return thing.taken; }).size(), things.local_count());
        EXPECT_EQ(things.gather(Rank{1}, [](const Thing& thing) { return thing.taken; }).size(),
                  rank.self() == Rank{1} ? count : 0U);
        EXPECT_EQ(things.all_reduce([](const Thing& thing) { return thing.taken; }),
                  count * 3U * (to + 1U) + count * to);
        things.broadcast<&Thing::hear>();
      }
    });
  }
}

TEST(Collection, takes_messages_longer_than_a_packet_in_their_order_among_short_ones) {
  run_on_ranks({.ranks = 3, .network = rough(9)}, {.worker_count = 2}, [](LocalRank& rank) {
    Things things = make_things(rank, 6);
    for (std::uint32_t phase = 0; phase < 3; ++phase) {
      const PhaseReport report = things.each([&](Thing&, ElementContext& context) {
        for (std::uint64_t number = 0; number < 10; ++number) {
          const std::size_t bytes = number % 3 == 0 ? 60'000 : number;
          context.send<&Thing::take>(ElementId{(context.id().value() + 3) % 6},
                                     phase * 10 + number,
                                     std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(phase * 10 + number)));
        }
      });
      EXPECT_EQ(report.lost_count, 0U);
      for (const auto& [id, thing] : things.local()) {
        EXPECT_EQ(thing.mistakes, 0U);
        EXPECT_EQ(thing.taken, 10U * (phase + 1));
        EXPECT_EQ(thing.bytes, (phase + 1) * (4 * 60'000 + 1 + 2 + 4 + 5 + 7 + 8));
      }
      move_all(things, phase);
    }
  });
}

TEST(Collection, keeps_working_when_one_element_outweighs_all_others) {
  for (const std::string_view name : {"greedy", "refine", "two_level"}) {
    run_on_ranks({.ranks = 3, .network = rough(4)}, {.worker_count = 1}, [&](LocalRank& rank) {
      Things things = make_things(rank, 12);
      Rebalancer rebalancing{rank.messages(), rank.trace(), {}};
      for (int balancing = 0; balancing < 3; ++balancing) {
        things.each([](Thing&, ElementContext& context) {
          context.send<&Thing::hear>(ElementId{(context.id().value() + 1) % 12});
        });
        std::vector<ElementLoad> loads = things.loads();
        for (ElementLoad& load : loads) {
          load.seconds = load.id == ElementId{5} ? 1000 : 1;
        }
        rebalancing.observe(loads, things.shape(), 0);
        (void)things.migrate(rebalancing.decide(*balance::make_balancer(name)));
      }
      EXPECT_EQ(things.count(), 12U);
      EXPECT_EQ(things.all_reduce([](const Thing& thing) { return thing.taken; }), 36U);
      if (things.find(ElementId{5}) != nullptr) {
        EXPECT_EQ(things.local_count(), 1U) << name << " puts it alone";
      }
    });
  }
}

}  // namespace
}  // namespace plait::data::collection_trouble_test
