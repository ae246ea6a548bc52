// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/zoltan/zoltan.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <zoltan.h>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance {
namespace {

constexpr std::array<std::string_view, 3> names{"zoltan_rcb", "zoltan_hsfc", "zoltan_graph"};

/// The input of Zoltan's callbacks. Its objects are the migratable ones, by their place in `objects`.
struct Questions {
  const Problem& problem;
  std::vector<std::uint32_t> objects;
  detail::Neighbours neighbours;
  double load_max = 0;
  std::vector<int> place;  ///< By object of the problem: in `objects`, or -1.

  explicit Questions(const Problem& of)
      : problem{of}, objects{detail::heaviest_first(of)}, neighbours{of}, place(of.objects.size(), -1) {
    load_max = objects.empty() ? 0 : of.objects[objects.front()].load;
    std::ranges::sort(objects);
    for (std::size_t i = 0; i < objects.size(); ++i) {
      place[objects[i]] = static_cast<int>(i);
    }
  }
  [[nodiscard]] const Object& object(ZOLTAN_ID_TYPE id) const { return problem.objects[objects[id]]; }
  template <class Visit>
  void visit_edges(ZOLTAN_ID_TYPE id, Visit visit) const {
    for (const auto& [other, bytes] : neighbours.of(objects[id])) {
      if (place[other] >= 0) {
        visit(static_cast<ZOLTAN_ID_TYPE>(place[other]), bytes);
      }
    }
  }
};

const Questions& questions(void* data) {
  return *static_cast<const Questions*>(data);
}

int count_objects(void* data, int* trouble) {
  *trouble = ZOLTAN_OK;
  return static_cast<int>(questions(data).objects.size());
}

void list_objects(void* data,
                  int /*global_words*/,
                  int /*local_words*/,
                  ZOLTAN_ID_PTR global,
                  ZOLTAN_ID_PTR local,
                  int /*weights_each*/,
                  float* weights,
                  int* trouble) {
  const Questions& of = questions(data);
  for (std::size_t i = 0; i < of.objects.size(); ++i) {
    global[i] = local[i] = static_cast<ZOLTAN_ID_TYPE>(i);
    // Relative to the heaviest: weights are of single precision, and some methods round small ones to 0.
    weights[i] = static_cast<float>(of.problem.objects[of.objects[i]].load / of.load_max);
  }
  *trouble = ZOLTAN_OK;
}

int count_axes(void* /*data*/, int* trouble) {
  *trouble = ZOLTAN_OK;
  return 3;
}

void list_positions(void* data,
                    int /*global_words*/,
                    int /*local_words*/,
                    int count,
                    ZOLTAN_ID_PTR global,
                    ZOLTAN_ID_PTR /*local*/,
                    int axes,
                    double* positions,
                    int* trouble) {
  for (int i = 0; i < count; ++i) {
    std::ranges::copy(questions(data).object(global[i]).position, positions + std::ptrdiff_t{i} * axes);
  }
  *trouble = ZOLTAN_OK;
}

int part_of(void* data, int, int, ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR /*local*/, int* trouble) {
  *trouble = ZOLTAN_OK;
  return static_cast<int>(questions(data).object(*global).rank.value());
}

int count_edges(void* data, int, int, ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR /*local*/, int* trouble) {
  int count = 0;
  questions(data).visit_edges(*global, [&](ZOLTAN_ID_TYPE, double) { ++count; });
  *trouble = ZOLTAN_OK;
  return count;
}

void list_edges(void* data,
                int /*global_words*/,
                int /*local_words*/,
                ZOLTAN_ID_PTR global,
                ZOLTAN_ID_PTR /*local*/,
                ZOLTAN_ID_PTR others,
                int* processes,
                int weights_each,
                float* weights,
                int* trouble) {
  std::size_t at = 0;
  questions(data).visit_edges(*global, [&](ZOLTAN_ID_TYPE other, double bytes) {
    others[at] = other;
    processes[at] = 0;
    if (weights_each > 0) {
      weights[at] = static_cast<float>(bytes);
    }
    ++at;
  });
  *trouble = ZOLTAN_OK;
}

struct Destroy {
  void operator()(Zoltan_Struct* zoltan) const noexcept { Zoltan_Destroy(&zoltan); }
};
using Handle = std::unique_ptr<Zoltan_Struct, Destroy>;

void set(Zoltan_Struct* zoltan, const char* key, const std::string& value) {
  Zoltan_Set_Param(zoltan, key, value.c_str());
}

Handle make(const Questions& of, ZoltanMethod method) {
  Handle zoltan{Zoltan_Create(MPI_COMM_SELF)};
  if (!zoltan) {
    throw Error{ErrorCode::network, "Zoltan cannot be started: initialise MPI first"};
  }
  constexpr std::array<const char*, 3> methods{"RCB", "HSFC", "GRAPH"};
  set(zoltan.get(), "DEBUG_LEVEL", "0");  // First: it prints the others.
  set(zoltan.get(), "LB_METHOD", methods.at(static_cast<std::size_t>(method)));
  set(zoltan.get(), "LB_APPROACH", "REPARTITION");
  set(zoltan.get(), "NUM_GLOBAL_PARTS", std::to_string(of.problem.rank_count));
  set(zoltan.get(), "NUM_GID_ENTRIES", "1");
  set(zoltan.get(), "NUM_LID_ENTRIES", "1");
  set(zoltan.get(), "OBJ_WEIGHT_DIM", "1");
  set(zoltan.get(), "EDGE_WEIGHT_DIM", of.problem.edges.empty() ? "0" : "1");
  set(zoltan.get(), "RETURN_LISTS", "PARTS");
  set(zoltan.get(), "IMBALANCE_TOL", "1.01");
  set(zoltan.get(), "REMAP", "1");
  set(zoltan.get(), "KEEP_CUTS", "0");
  set(zoltan.get(), "SEED", "1");
  set(zoltan.get(), "FINAL_OUTPUT", "0");
  auto* const data = const_cast<void*>(static_cast<const void*>(&of));  // Only read, above.
  Zoltan_Set_Num_Obj_Fn(zoltan.get(), count_objects, data);
  Zoltan_Set_Obj_List_Fn(zoltan.get(), list_objects, data);
  Zoltan_Set_Num_Geom_Fn(zoltan.get(), count_axes, data);
  Zoltan_Set_Geom_Multi_Fn(zoltan.get(), list_positions, data);
  Zoltan_Set_Part_Fn(zoltan.get(), part_of, data);
  Zoltan_Set_Num_Edges_Fn(zoltan.get(), count_edges, data);
  Zoltan_Set_Edge_List_Fn(zoltan.get(), list_edges, data);
  return zoltan;
}

/// One list that a partitioning returns.
struct Lists {
  int count = 0;
  ZOLTAN_ID_PTR global = nullptr;
  ZOLTAN_ID_PTR local = nullptr;
  int* processes = nullptr;
  int* parts = nullptr;

  Lists() = default;
  Lists(const Lists&) = delete;
  Lists& operator=(const Lists&) = delete;
  ~Lists() { Zoltan_LB_Free_Part(&global, &local, &processes, &parts); }
};

}  // namespace

Zoltan::Zoltan(ZoltanMethod method) : method_{method} {
  float version = 0;
  if (Zoltan_Initialize(0, nullptr, &version) != ZOLTAN_OK) {
    throw Error{ErrorCode::network, "Zoltan cannot be initialised: initialise MPI first"};
  }
}

std::string Zoltan::name() const {
  return std::string{names.at(static_cast<std::size_t>(method_))};
}

Decision Zoltan::decide(const Problem& problem) const {
  check(problem);
  const Questions of{problem};
  Decision decision{.placement = present_placement(problem)};
  if (of.load_max == 0 || problem.rank_count == 1) {
    return decision;
  }
  const Handle zoltan = make(of, method_);
  int has_changed = 0;
  int global_words = 0;
  int local_words = 0;
  Lists received;
  Lists parts;
  const int trouble = Zoltan_LB_Partition(zoltan.get(),
                                          &has_changed,
                                          &global_words,
                                          &local_words,
                                          &received.count,
                                          &received.global,
                                          &received.local,
                                          &received.processes,
                                          &received.parts,
                                          &parts.count,
                                          &parts.global,
                                          &parts.local,
                                          &parts.processes,
                                          &parts.parts);
  if (trouble != ZOLTAN_OK && trouble != ZOLTAN_WARN) {
    throw Error{ErrorCode::bad_argument, fmt::format("{} failed (code {}); its messages are above", name(), trouble)};
  }
  for (int i = 0; i < parts.count; ++i) {
    decision.placement[of.objects[parts.global[i]]] = Rank{static_cast<std::uint32_t>(parts.parts[i])};
  }
  detail::respect_memory(problem, decision.placement);
  decision.placement = detail::if_better(problem, std::move(decision.placement));
  detail::count_as_gathered(problem, decision);
  return decision;
}

}  // namespace plait::data::balance
