// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <fmt/format.h>
#ifdef PLAIT_WITH_STARPU
#include <starpu.h>
#endif

#include "cholesky/kernels/kernels.hpp"
#include "cholesky/layout.hpp"
#include "cholesky/peers.hpp"
#include "cholesky/sources/matrix_source.hpp"
#include "cholesky/tile_flow.hpp"
#include "support/stopwatch.hpp"

namespace bench {

#ifdef PLAIT_WITH_STARPU

namespace {

cholesky::Tile tile_of(void* buffer) {
  return {reinterpret_cast<double*>(STARPU_MATRIX_GET_PTR(buffer)),
          STARPU_MATRIX_GET_NX(buffer),
          STARPU_MATRIX_GET_NY(buffer)};
}

void factor_tile(void** buffers, void*) {
  (void)cholesky::factor_symmetric(tile_of(buffers[0]));
}
void solve_tile(void** buffers, void*) {
  cholesky::solve_transposed(tile_of(buffers[0]), tile_of(buffers[1]));
}
void square_tile(void** buffers, void*) {
  cholesky::update_symmetric(tile_of(buffers[0]), tile_of(buffers[1]));
}
void multiply_tiles(void** buffers, void*) {
  cholesky::update_transposed(tile_of(buffers[0]), tile_of(buffers[1]), tile_of(buffers[2]));
}

starpu_codelet codelet(const char* name, void (*kernel)(void**, void*), std::vector<starpu_data_access_mode> modes) {
  starpu_codelet result;
  starpu_codelet_init(&result);
  result.name = name;
  result.cpu_funcs[0] = kernel;
  result.nbuffers = static_cast<int>(modes.size());
  for (std::size_t index = 0; index < modes.size(); ++index) {
    result.modes[index] = modes[index];
  }
  return result;
}

/// One factorisation: its tiles are known to StarPU as long as it lives.
class Factorisation {
 public:
  Factorisation(const cholesky::Layout& layout, const cholesky::LocalTiles& local)
      : layout_{layout}, handles_(layout.count() * layout.count()) {
    for (const cholesky::PlacedTile& placed : local.tiles()) {
      const cholesky::Tile& tile = placed.tile;
      const auto rows = static_cast<std::uint32_t>(tile.rows);
      starpu_matrix_data_register(&at(placed.row, placed.column),
                                  STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(tile.data),
                                  rows,
                                  rows,
                                  static_cast<std::uint32_t>(tile.columns),
                                  sizeof(double));
    }
  }
  Factorisation(const Factorisation&) = delete;
  Factorisation& operator=(const Factorisation&) = delete;
  ~Factorisation() {
    for (starpu_data_handle_t handle : handles_) {
      if (handle != nullptr) {
        starpu_data_unregister(handle);
      }
    }
  }

  void submit() {
    const std::size_t count = layout_.count();
    const auto urgency = [this](std::size_t i, std::size_t j, std::size_t k) {
      return cholesky::priority(layout_, {i, j, k});
    };
    for (std::size_t k = 0; k < count; ++k) {
      starpu_task_insert(&factor_, STARPU_RW, at(k, k), STARPU_PRIORITY, urgency(k, k, k), 0);
      for (std::size_t i = k + 1; i < count; ++i) {
        starpu_task_insert(&solve_, STARPU_R, at(k, k), STARPU_RW, at(i, k), STARPU_PRIORITY, urgency(i, k, k), 0);
      }
      for (std::size_t j = k + 1; j < count; ++j) {
        starpu_task_insert(&square_, STARPU_R, at(j, k), STARPU_RW, at(j, j), STARPU_PRIORITY, urgency(j, j, k), 0);
        for (std::size_t i = j + 1; i < count; ++i) {
          starpu_task_insert(&multiply_,
                             STARPU_R,
                             at(i, k),
                             STARPU_R,
                             at(j, k),
                             STARPU_RW,
                             at(i, j),
                             STARPU_PRIORITY,
                             urgency(i, j, k),
                             0);
        }
      }
    }
  }

 private:
  starpu_data_handle_t& at(std::size_t row, std::size_t column) { return handles_[row * layout_.count() + column]; }

  const cholesky::Layout& layout_;
  std::vector<starpu_data_handle_t> handles_;
  starpu_codelet factor_ = codelet("potrf", factor_tile, {STARPU_RW});
  starpu_codelet solve_ = codelet("trsm", solve_tile, {STARPU_R, STARPU_RW});
  starpu_codelet square_ = codelet("syrk", square_tile, {STARPU_R, STARPU_RW});
  starpu_codelet multiply_ = codelet("gemm", multiply_tiles, {STARPU_R, STARPU_R, STARPU_RW});
};

}  // namespace

StarPu::StarPu(unsigned workers, const std::string& scheduler) {
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = static_cast<int>(workers);
  conf.ncuda = 0;
  conf.nopencl = 0;
  conf.sched_policy_name = scheduler.c_str();
  is_there_ = starpu_init(&conf) == 0;
  if (is_there_) {
    starpu_pause();
  }
}

StarPu::~StarPu() {
  if (is_there_) {
    starpu_resume();
    starpu_shutdown();
  }
}

std::optional<Factored> StarPu::factor(const Problem& problem) {
  if (!is_there_) {
    return std::nullopt;
  }
  const cholesky::Layout layout{problem.size, problem.block, {1, 1}};
  const cholesky::LocalTiles local{layout, cholesky::Part::lower, plait::Rank{0}};
  cholesky::generate(problem.size, problem.seed, static_cast<double>(problem.size))
      ->fill(layout, cholesky::Part::lower, local.tiles());
  Factored result;
  starpu_resume();
  {
    Factorisation factorisation{layout, local};
    const Stopwatch watch;
    factorisation.submit();
    starpu_task_wait_for_all();
    result.seconds = watch.seconds();
  }
  starpu_pause();
  for (const cholesky::PlacedTile& placed : local.tiles()) {
    for (std::size_t row = 0; placed.row == placed.column && row < placed.tile.rows; ++row) {
      result.log_determinant += std::log(placed.tile.at(row, row));
    }
  }
  return result;
}

std::string StarPu::version() {
  return fmt::format("StarPU {}.{}.{}", STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION, STARPU_RELEASE_VERSION);
}

#else

StarPu::StarPu(unsigned, const std::string&) {}
StarPu::~StarPu() = default;
std::optional<Factored> StarPu::factor(const Problem&) {
  return std::nullopt;
}
std::string StarPu::version() {
  return "StarPU";
}

#endif

}  // namespace bench
