// SPDX-License-Identifier: Apache-2.0
#include "plait/data/lend.hpp"

#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/loopback_run.hpp"

namespace plait::data {
namespace {

/// A view of cells in the parent's block, whose rows do not stand together; or of memory of its own.
struct Cells {
  double* field;
  double* charge;
  std::size_t stride;
};
constexpr std::size_t side = 3;

struct OwnCells : Cells {
  OwnCells() : Cells{} {
    field = memory.data();
    charge = &memory[side * side];
    stride = side;
  }
  std::array<double, 2 * side * side> memory{};
};

/// One of the two arrays.
template <double* Cells::* array>
struct Part {
  static std::size_t size(const Cells& /*cells*/) { return side * side * sizeof(double); }
  static void pack(const Cells& cells, Packer& packer) {
    for (std::size_t row = 0; row < side; ++row) {
      packer.bytes(std::as_bytes(std::span{cells.*array + row * cells.stride, side}));
    }
  }
  static void unpack(Cells& cells, Unpacker& unpacker) {
    for (std::size_t row = 0; row < side; ++row) {
      unpacker.bytes(std::as_writable_bytes(std::span{cells.*array + row * cells.stride, side}));
    }
  }
};
using Fields = Part<&Cells::field>;
using Charges = Part<&Cells::charge>;

/// Elements that are where the test says; of a collection, what a lender asks for.
struct Elements {
  std::map<ElementId, int> here;
  [[nodiscard]] const std::map<ElementId, int>& local() const { return here; }
};

constexpr std::uint32_t pieces_per_rank = 4;
Rank parent_of(ElementId id) {
  return Rank{static_cast<std::uint32_t>(id.value() / pieces_per_rank)};
}

/// A rank of the parent: two arrays of `pieces_per_rank` squares side by side, seen as pieces.
struct Parent {
  explicit Parent(Runtime& runtime) : rank{runtime.self().value()} {
    for (std::size_t i = 0; i < pieces_per_rank; ++i) {
      pieces.push_back({&field[i * side], &charge[i * side], side * pieces_per_rank});
    }
  }
  [[nodiscard]] LendSettings<Cells> settings() {
    LendSettings<Cells> settings{.parent_of = parent_of,
                                 .make_copy = [](ElementId) { return std::make_shared<OwnCells>(); }};
    for (std::size_t i = 0; i < pieces_per_rank; ++i) {
      settings.pieces.push_back({id(i), &pieces[i]});
    }
    return settings;
  }
  [[nodiscard]] ElementId id(std::size_t piece) const { return ElementId{rank * pieces_per_rank + piece}; }

  std::uint32_t rank;
  std::vector<double> field = std::vector<double>(pieces_per_rank * side * side);
  std::vector<double> charge = std::vector<double>(pieces_per_rank * side * side);
  std::vector<Cells> pieces;
};

/// Where element `id` is in the given phase: with its parent, or anywhere.
Rank place(ElementId id, std::uint32_t phase, std::uint32_t rank_count) {
  return phase == 0 ? parent_of(id) : Rank{static_cast<std::uint32_t>((id.value() * 7 + phase / 2) % rank_count)};
}

void put(Elements& elements, Runtime& runtime, std::uint32_t phase) {
  elements.here.clear();
  for (std::uint64_t id = 0; id < std::uint64_t{pieces_per_rank} * runtime.rank_count(); ++id) {
    if (place(ElementId{id}, phase, runtime.rank_count()) == runtime.self()) {
      elements.here.emplace(ElementId{id}, 0);
    }
  }
}

TEST(Lender, brings_each_direction_s_part_and_nothing_else_wherever_elements_are) {
  test::run_on_loopback(3, {}, [](Runtime& runtime) {
    Parent parent{runtime};
    Elements elements;
    Lender<Cells> lender{runtime, elements, parent.settings()};
    for (std::uint32_t phase = 0; phase < 8; ++phase) {
      put(elements, runtime, phase);
      std::iota(parent.field.begin(), parent.field.end(), 1000.0 * runtime.self().value() + phase);
      std::ranges::fill(parent.charge, -1.0);
      lender.lend<Fields>();
      for (const auto& [id, element] : elements.here) {
        const Cells& cells = *lender.at(id);
        for (std::size_t at = 0; at < side * side; ++at) {
          const std::size_t place = at / side * cells.stride + at % side;
          cells.charge[place] = 2 * cells.field[place] + static_cast<double>(id.value());
          if (!lender.at(id).is_parents_own()) {
            cells.field[place] = -7;  // stays here
          }
        }
      }
      lender.give_back<Charges>();
      for (std::size_t at = 0; at < parent.charge.size(); ++at) {
        const double field = 1000.0 * runtime.self().value() + phase + static_cast<double>(at);
        const std::size_t piece = at / side % pieces_per_rank;
        EXPECT_EQ(parent.field[at], field);
        EXPECT_EQ(parent.charge[at], 2 * field + static_cast<double>(parent.id(piece).value())) << phase;
      }
    }
    EXPECT_EQ(lender.totals().settled, 5U) << "in phase 0, and with every second one after it";
  });
}

TEST(Lender, wraps_the_parents_own_object_where_the_element_has_not_moved) {
  test::run_on_loopback(2, {}, [](Runtime& runtime) {
    Parent parent{runtime};
    Elements elements;
    put(elements, runtime, 0);
    Lender<Cells> lender{runtime, elements, parent.settings()};
    for (int times = 0; times < 2; ++times) {
      lender.lend<Fields>();
      for (std::size_t i = 0; i < pieces_per_rank; ++i) {
        EXPECT_TRUE(lender.at(parent.id(i)).is_parents_own());
        EXPECT_EQ(&*lender.at(parent.id(i)), &parent.pieces[i]);
        EXPECT_EQ(lender.at(parent.id(i))->field, &parent.field[i * side]);
      }
      lender.give_back<Charges>();
    }
    EXPECT_EQ(lender.totals().wrapped, 2 * pieces_per_rank);
    EXPECT_EQ(lender.totals().sent, 0U);
    EXPECT_EQ(lender.totals().bytes, 0U);
  });
}

TEST(Lender, keeps_copies_and_their_memory_while_elements_stay) {
  test::run_on_loopback(2, {}, [](Runtime& runtime) {
    Parent parent{runtime};
    Elements elements;
    Lender<Cells> lender{runtime, elements, parent.settings()};
    std::map<ElementId, const Cells*> before;
    for (int times = 0; times < 3; ++times) {
      put(elements, runtime, 2);
      lender.lend<Fields>();
      for (const auto& [id, element] : elements.here) {
        const Cells* const now = &*lender.at(id);
        EXPECT_EQ(before.emplace(id, now).first->second, now);
      }
      lender.give_back<Charges>();
    }
    EXPECT_EQ(lender.totals().settled, 1U);
    EXPECT_GT(lender.totals().sent, 0U);
    EXPECT_EQ(lender.totals().bytes, lender.totals().sent * side * side * sizeof(double));
  });
}

TEST(Lender, goes_on_beside_other_lenders_that_are_under_way) {
  test::run_on_loopback(2, {}, [](Runtime& runtime) {
    Parent first_parent{runtime};
    Parent second_parent{runtime};
    Elements elements;
    put(elements, runtime, 2);
    Lender<Cells> first{runtime, elements, first_parent.settings()};
    Lender<Cells> second{runtime, elements, second_parent.settings()};
    std::ranges::fill(first_parent.field, 1.0);
    std::ranges::fill(second_parent.field, 2.0);
    first.start_lend<Fields>();
    second.start_lend<Fields>();
    second.finish_lend<Fields>();
    first.finish_lend<Fields>();
    for (const auto& [id, element] : elements.here) {
      EXPECT_EQ(*first.at(id)->field, 1.0);
      EXPECT_EQ(*second.at(id)->field, 2.0);
    }
    first.start_give_back<Charges>();
    second.give_back<Charges>();
    first.finish_give_back<Charges>();
  });
}

struct WritesTooMuch : Fields {
  static void pack(const Cells& cells, Packer& packer) {
    Fields::pack(cells, packer);
    packer(1.0);
  }
};
struct ReadsTooLittle : Fields {
  static void unpack(Cells& /*cells*/, Unpacker& /*unpacker*/) {}
};

/// What a lender's user may do wrong, and a part of the sentence that says so.
struct Mistake {
  std::string sentence;
  std::function<void(Runtime&, Parent&, Elements&)> make;
};

std::vector<Mistake> mistakes() {
  const auto lender_of = [](Runtime& runtime, Parent& parent, Elements& elements) {
    return std::make_unique<Lender<Cells>>(runtime, elements, parent.settings());
  };
  return {
      {"lent already",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         const auto lender = lender_of(runtime, parent, elements);
         lender->lend<Fields>();
         lender->lend<Fields>();
       }},
      {"nothing is lent",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         lender_of(runtime, parent, elements)->give_back<Charges>();
       }},
      {"between lend and give_back",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         const auto lender = lender_of(runtime, parent, elements);
         lender->lend<Fields>();
         put(elements, runtime, 0);
         lender->give_back<Charges>();
       }},
      {"but pack wrote 80",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         lender_of(runtime, parent, elements)->lend<WritesTooMuch>();
       }},
      {"ReadsTooLittle",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         lender_of(runtime, parent, elements)->lend<ReadsTooLittle>();
       }},
      {"one piece for each element",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         LendSettings<Cells> settings = parent.settings();
         settings.pieces.pop_back();
         Lender<Cells>{runtime, elements, settings}.lend<Fields>();
       }},
      {"has no piece for it",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         LendSettings<Cells> settings = parent.settings();
         settings.pieces.back().id = ElementId{1000 + runtime.self().value()};
         Lender<Cells>{runtime, elements, settings}.lend<Fields>();
       }},
      {"two pieces for element",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         LendSettings<Cells> settings = parent.settings();
         settings.pieces.push_back(settings.pieces.front());
         Lender<Cells>{runtime, elements, settings}.lend<Fields>();
       }},
      {"make_copy",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         Lender<Cells>{runtime, elements, {.parent_of = parent.settings().parent_of}};
       }},
      {"element 1000 has no piece here",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         const auto lender = lender_of(runtime, parent, elements);
         lender->lend<Fields>();
         static_cast<void>(lender->at(ElementId{1000}));
       }},
  };
}

TEST(Lender, names_mistakes_on_all_ranks) {
  for (const Mistake& mistake : mistakes()) {
    test::run_on_loopback(3, {}, [&](Runtime& runtime) {
      Parent parent{runtime};
      Elements elements;
      put(elements, runtime, 2);
      try {
        mistake.make(runtime, parent, elements);
        ADD_FAILURE() << "no error: " << mistake.sentence;
      } catch (const Error& error) {
        EXPECT_NE(std::string{error.what()}.find(mistake.sentence), std::string::npos) << error.what();
      }
    });
  }
}

}  // namespace
}  // namespace plait::data
