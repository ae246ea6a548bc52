// SPDX-License-Identifier: Apache-2.0
#include "plait/data/lending/lend.hpp"

#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/data/collections/collection.hpp"
#include "plait/testing/run_program.hpp"

#include "data/leaks_allowed.hpp"

namespace plait::data::lend_test {
namespace {

/// A view of cells in the parent's block, whose rows are not contiguous; or of memory of its own.
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

/// Elements whose places the test sets; of a collection, what a lender needs.
struct Elements {
  std::map<ElementId, int> here;
  std::uint64_t version = 0;
  [[nodiscard]] const std::map<ElementId, int>& local() const { return here; }
  [[nodiscard]] std::uint64_t placement_version() const { return version; }
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
  elements.version = phase == 0 ? 0 : 1 + phase / 2;  // as often as elements move
  elements.here.clear();
  for (std::uint64_t id = 0; id < std::uint64_t{pieces_per_rank} * runtime.rank_count(); ++id) {
    if (place(ElementId{id}, phase, runtime.rank_count()) == runtime.self()) {
      elements.here.emplace(ElementId{id}, 0);
    }
  }
}

TEST(Lender, brings_each_direction_s_part_and_nothing_else_wherever_elements_are) {
  plait::test::run_program({.ranks = 3}, {}, [](Runtime& runtime) {
    Parent parent{runtime};
    Elements elements;
    Lender<Cells> lender{runtime, elements, parent.settings()};
    for (std::uint32_t phase = 0; phase < 8; ++phase) {
      put(elements, runtime, phase);
      std::iota(parent.field.begin(), parent.field.end(), 1000.0 * runtime.self().value() + phase);
      std::ranges::fill(parent.charge, -1.0);
      lender.lend<Fields>().wait();
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
      lender.give_back<Charges>().wait();
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
  plait::test::run_program({.ranks = 2}, {}, [](Runtime& runtime) {
    Parent parent{runtime};
    Elements elements;
    put(elements, runtime, 0);
    Lender<Cells> lender{runtime, elements, parent.settings()};
    for (int times = 0; times < 2; ++times) {
      lender.lend<Fields>().wait();
      for (std::size_t i = 0; i < pieces_per_rank; ++i) {
        EXPECT_TRUE(lender.at(parent.id(i)).is_parents_own());
        EXPECT_EQ(&*lender.at(parent.id(i)), &parent.pieces[i]);
        EXPECT_EQ(lender.at(parent.id(i))->field, &parent.field[i * side]);
      }
      lender.give_back<Charges>().wait();
    }
    EXPECT_EQ(lender.totals().wrapped, 2 * pieces_per_rank);
    EXPECT_EQ(lender.totals().sent, 0U);
    EXPECT_EQ(lender.totals().bytes, 0U);
  });
}

TEST(Lender, keeps_copies_and_their_memory_while_elements_stay) {
  plait::test::run_program({.ranks = 2}, {}, [](Runtime& runtime) {
    Parent parent{runtime};
    Elements elements;
    Lender<Cells> lender{runtime, elements, parent.settings()};
    std::map<ElementId, const Cells*> before;
    for (int times = 0; times < 3; ++times) {
      put(elements, runtime, 2);
      lender.lend<Fields>().wait();
      for (const auto& [id, element] : elements.here) {
        const Cells* const now = &*lender.at(id);
        EXPECT_EQ(before.emplace(id, now).first->second, now);
      }
      lender.give_back<Charges>().wait();
    }
    EXPECT_EQ(lender.totals().settled, 1U);
    EXPECT_GT(lender.totals().sent, 0U);
    EXPECT_EQ(lender.totals().bytes, lender.totals().sent * side * side * sizeof(double));
  });
}

TEST(Lender, goes_on_beside_other_lenders_that_are_under_way) {
  plait::test::run_program({.ranks = 2}, {}, [](Runtime& runtime) {
    Parent first_parent{runtime};
    Parent second_parent{runtime};
    Elements elements;
    put(elements, runtime, 2);
    Lender<Cells> first{runtime, elements, first_parent.settings()};
    Lender<Cells> second{runtime, elements, second_parent.settings()};
    std::ranges::fill(first_parent.field, 1.0);
    std::ranges::fill(second_parent.field, 2.0);
    Transfer one = first.lend<Fields>();
    Transfer other = second.lend<Fields>();
    other.wait();
    one.wait();
    for (const auto& [id, element] : elements.here) {
      EXPECT_EQ(*first.at(id)->field, 1.0);
      EXPECT_EQ(*second.at(id)->field, 2.0);
    }
    one = first.give_back<Charges>();
    second.give_back<Charges>().wait();
    one.wait();
  });
}

/// An element that computes its charge from its fields, and sends a note to the next one.
struct Square {
  std::uint64_t notes = 0;
  void note() { ++notes; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(notes);
  }
};

/// Squares that are anywhere but with their parents, and what the parents' program does with them.
struct Program {
  Program(Runtime& its_runtime, std::uint32_t shift)
      : runtime{its_runtime},
        parent{runtime},
        count{pieces_per_rank * runtime.rank_count()},
        squares{runtime, Shape{count}, [](ElementId, Index) { return Square{}; }},
        lender{runtime, squares, parent.settings()} {
    std::vector<Move> moves;
    for (const auto& [id, square] : squares.local()) {
      moves.push_back({id, Rank{static_cast<std::uint32_t>((id.value() + shift) % runtime.rank_count())}});
    }
    (void)squares.migrate(moves);
  }
  void set_fields(double value) { std::ranges::fill(parent.field, value + runtime.self().value()); }
  [[nodiscard]] Phase start(double factor) {
    return squares.start(
        [this, factor](Square&, ElementContext& context) {
          const Cells& cells = *lender.at(context.id());
          for (std::size_t at = 0; at < side * side; ++at) {
            const std::size_t place = at / side * cells.stride + at % side;
            cells.charge[place] = factor * cells.field[place];
          }
          context.send<&Square::note>(ElementId{(context.id().value() + 1) % count});
        },
        {.name = "charge", .gate = &lender.gate()});
  }
  void expect_charges(double value) const {
    for (const double charge : parent.charge) {
      ASSERT_EQ(charge, value);
    }
  }
  /// Blocks without plait's help, as an MPI call would.
  void exchange_beside() const {
    std::uint64_t got = 0;
    const Rank next{(runtime.self().value() + 1) % runtime.rank_count()};
    comm::Request receive =
        runtime.messages().receive({any_source, Tag{9}}, std::as_writable_bytes(std::span{&got, 1}));
    const std::uint64_t mine = runtime.self().value();
    runtime.messages().send({next, Tag{9}}, std::as_bytes(std::span{&mine, 1})).wait();
    receive.wait();
  }

  Runtime& runtime;
  Parent parent;
  std::uint32_t count;
  Collection<Square> squares;
  Lender<Cells> lender;
};

TEST(Lender, overlaps_with_phases_and_the_programs_own_messages) {
  for (const std::uint32_t workers : {1U, 2U}) {
    plait::test::run_program({.ranks = 3}, {.worker_count = workers}, [](Runtime& runtime) {
      Program program{runtime, 1};
      Phase phase;
      constexpr int steps = 20;
      for (int step = 1; step <= steps; ++step) {
        program.set_fields(step);
        program.lender.lend<Fields>();  // while messages of the last phase may still travel
        if (phase) {
          const PhaseReport report = phase.wait();
          EXPECT_EQ(report.steps, program.squares.local_count());
        }
        phase = program.start(step);
        program.exchange_beside();
        Transfer back = program.lender.give_back<Charges>();
        program.exchange_beside();
        back.wait(program.parent.id(step % pieces_per_rank));
        EXPECT_TRUE(back.is_ready(program.parent.id(step % pieces_per_rank)));
        back.wait();
        program.expect_charges(step * (step + static_cast<double>(runtime.self().value())));
        program.exchange_beside();
      }
      (void)phase.wait();
      for (const auto& [id, square] : program.squares.local()) {
        EXPECT_EQ(square.notes, steps);
      }
      EXPECT_EQ(program.lender.totals().settled, 1U);
    });
  }
}

TEST(Lender, settles_anew_only_after_elements_have_moved) {
  plait::test::run_program({.ranks = 2}, {}, [](Runtime& runtime) {
    Program program{runtime, 0};
    for (int step = 1; step < 7; ++step) {
      program.set_fields(step);
      program.lender.lend<Fields>();
      Phase phase = program.start(1);
      Transfer back = program.lender.give_back<Charges>();
      (void)phase.wait();
      back.wait();
      program.expect_charges(step + static_cast<double>(runtime.self().value()));
      if (step % 3 == 0) {
        std::vector<Move> moves;
        for (const auto& [id, square] : program.squares.local()) {
          moves.push_back({id, Rank{1 - runtime.self().value()}});
        }
        (void)program.squares.migrate(moves);
      }
    }
    EXPECT_EQ(program.lender.totals().settled, 2U);
  });
}

TEST(Lender, of_two_collections_lends_to_both_at_once) {
  plait::test::run_program({.ranks = 3}, {}, [](Runtime& runtime) {
    Program first{runtime, 1};
    Program second{runtime, 2};
    for (int step = 1; step < 10; ++step) {
      first.set_fields(step);
      second.set_fields(-step);
      first.lender.lend<Fields>();
      second.lender.lend<Fields>();
      Phase one = first.start(2);
      Phase other = second.start(3);
      Transfer back = second.lender.give_back<Charges>();
      first.lender.give_back<Charges>().wait();
      back.wait();
      const auto rank = static_cast<double>(runtime.self().value());
      first.expect_charges(2 * (step + rank));
      second.expect_charges(3 * (-step + rank));
      (void)other.wait();
      (void)one.wait();
    }
  });
}

TEST(Lender, refuses_what_comes_at_the_wrong_time) {
  plait::test::run_program({.ranks = 2}, {}, [](Runtime& runtime) {
    Program program{runtime, 1};
    const auto refuses = [](const char* sentence, const std::function<void()>& call) {
      try {
        call();
        ADD_FAILURE() << "no error: " << sentence;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_argument);
        EXPECT_NE(std::string{error.what()}.find(sentence), std::string::npos) << error.what();
      }
    };
    refuses("not lent", [&] { (void)program.start(1); });
    program.lender.lend<Fields>().wait();
    (void)program.start(1).wait();
    (void)program.squares.migrate({});  // moves nothing
    (void)program.start(1).wait();
    program.lender.give_back<Charges>().wait();
    refuses("not lent", [&] { (void)program.start(1); });
    program.squares.each([](Square&) {});  // and the collection goes on
  });
}

struct ThrowsInUnpack : Fields {
  static void unpack(Cells& /*cells*/, Unpacker& /*unpacker*/) { throw std::runtime_error{"no room for fields"}; }
};

TEST(Lender, that_fails_ends_phases_that_wait_for_it) {
  plait::test::run_program({.ranks = 3}, {}, [](Runtime& runtime) {
    Program program{runtime, 1};
    try {
      program.lender.lend<ThrowsInUnpack>();
      (void)program.start(1).wait();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string{error.what()}.find("no room for fields"), std::string::npos) << error.what();
    }
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

/// What a lender's user may do wrong, and a part of its error message.
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
         lender->lend<Fields>().wait();
         lender->lend<Fields>().wait();
       }},
      {"nothing is lent",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         lender_of(runtime, parent, elements)->give_back<Charges>().wait();
       }},
      {"between lend and give_back",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         const auto lender = lender_of(runtime, parent, elements);
         lender->lend<Fields>().wait();
         put(elements, runtime, 0);
         lender->give_back<Charges>().wait();
       }},
      {"but pack wrote 80",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         lender_of(runtime, parent, elements)->lend<WritesTooMuch>().wait();
       }},
      {"ReadsTooLittle",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         lender_of(runtime, parent, elements)->lend<ReadsTooLittle>().wait();
       }},
      {"one piece for each element",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         LendSettings<Cells> settings = parent.settings();
         settings.pieces.pop_back();
         Lender<Cells>{runtime, elements, settings}.lend<Fields>().wait();
       }},
      {"has no piece for it",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         LendSettings<Cells> settings = parent.settings();
         settings.pieces.back().id = ElementId{1000 + runtime.self().value()};
         Lender<Cells>{runtime, elements, settings}.lend<Fields>().wait();
       }},
      {"two pieces for element",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         LendSettings<Cells> settings = parent.settings();
         settings.pieces.push_back(settings.pieces.front());
         Lender<Cells>{runtime, elements, settings}.lend<Fields>().wait();
       }},
      {"make_copy",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         Lender<Cells>{runtime, elements, {.parent_of = parent.settings().parent_of}};
       }},
      {"element 1000 has no piece here",
       [=](Runtime& runtime, Parent& parent, Elements& elements) {
         const auto lender = lender_of(runtime, parent, elements);
         lender->lend<Fields>().wait();
         static_cast<void>(lender->at(ElementId{1000}));
       }},
  };
}

TEST(Lender, names_mistakes_on_all_ranks) {
  for (const Mistake& mistake : mistakes()) {
    plait::test::run_program({.ranks = 3}, {}, [&](Runtime& runtime) {
      Parent parent{runtime};
      Elements elements;
      const test::LeaksAllowed leaks;  // the mistake ends other ranks in the middle of a collective
      try {
        put(elements, runtime, 2);  // may still wait here for others when the first rank makes its mistake
        mistake.make(runtime, parent, elements);
        ADD_FAILURE() << "no error: " << mistake.sentence;
      } catch (const Error& error) {
        EXPECT_NE(std::string{error.what()}.find(mistake.sentence), std::string::npos) << error.what();
      }
    });
  }
}

}  // namespace
}  // namespace plait::data::lend_test
