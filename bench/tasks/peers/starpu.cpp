// SPDX-License-Identifier: Apache-2.0
// StarPU beside plait, on as many workers as the first argument has. Its tasks run once: there is no re-run.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <starpu.h>

#include "tasks/cases.hpp"

namespace {

using tasks::Pattern;
using tasks::Witness;

/// The argument of the kernel.
struct Mark {
  Witness* witness = nullptr;
  std::size_t task = 0;
};

void kernel(void**, void* argument) {
  const Mark& mark = *static_cast<const Mark*>(argument);
  mark.witness->ran(mark.task);
}

class Tasks {
 public:
  explicit Tasks(Witness& witness) : marks_(tasks::task_count(Pattern::wavefront)) {
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      marks_[i] = {&witness, i};
    }
    for (starpu_codelet* const one : {&plain_, &linked_, &cell_}) {
      starpu_codelet_init(one);
      one->cpu_funcs[0] = kernel;
      one->name = "empty";
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto place = reinterpret_cast<std::uintptr_t>(&values_[i]);
      starpu_variable_data_register(&handles_[i], STARPU_MAIN_RAM, place, sizeof values_[i]);
    }
    linked_.nbuffers = 1;
    linked_.modes[0] = STARPU_RW;
    cell_.nbuffers = 3;
    cell_.modes[0] = STARPU_W;
    cell_.modes[1] = STARPU_R;
    cell_.modes[2] = STARPU_R;
  }

  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;
  ~Tasks() {
    for (const starpu_data_handle_t handle : handles_) {
      starpu_data_unregister(handle);
    }
  }

  void independent() {
    for (std::size_t i = 0; i < tasks::list_length; ++i) {
      submit(plain_, i, {});
    }
    starpu_task_wait_for_all();
  }

  /// Dependencies follow from the data that tasks access, which are registered already.
  void chain() {
    for (std::size_t i = 0; i < tasks::list_length; ++i) {
      submit(linked_, i, {handles_[0], nullptr, nullptr});
    }
    starpu_task_wait_for_all();
  }

  void wavefront() {
    for (std::size_t i = 0; i < tasks::task_count(Pattern::wavefront); ++i) {
      const std::size_t cell = (i / tasks::side_length + 1) * stride + i % tasks::side_length + 1;
      submit(cell_, i, {handles_[cell], handles_[cell - 1], handles_[cell - stride]});
    }
    starpu_task_wait_for_all();
  }

  /// Dependencies are declared between tasks.
  void declared(Pattern pattern) {
    std::vector<starpu_task*> all(tasks::task_count(pattern));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = starpu_task_create();
      all[i]->cl = &plain_;
      all[i]->cl_arg = &marks_[i];
      all[i]->destroy = 0;
      std::array<starpu_task*, 2> before{};
      unsigned count = 0;
      tasks::for_each_before(pattern, i, [&](std::size_t earlier) { before[count++] = all[earlier]; });
      starpu_task_declare_deps_array(all[i], count, before.data());
      expect_accepted(starpu_task_submit(all[i]));
    }
    starpu_task_wait_for_all();
    for (starpu_task* const task : all) {
      starpu_task_destroy(task);
    }
  }

 private:
  static constexpr std::size_t stride = tasks::side_length + 1;  ///< Cells have a border left of and above them.

  static void expect_accepted(int status) {
    if (status != 0) {
      std::fprintf(stderr, "StarPU does not take a task: error %d\n", status);
      std::exit(1);
    }
  }
  void submit(starpu_codelet& codelet, std::size_t number, const std::array<starpu_data_handle_t, 3>& data) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &marks_[number];
    for (int i = 0; i < codelet.nbuffers; ++i) {
      task->handles[i] = data[static_cast<std::size_t>(i)];
    }
    expect_accepted(starpu_task_submit(task));
  }

  std::vector<Mark> marks_;
  std::vector<std::uint32_t> values_ = std::vector<std::uint32_t>(stride * stride);
  std::vector<starpu_data_handle_t> handles_ = std::vector<starpu_data_handle_t>(stride * stride);
  starpu_codelet plain_{};
  starpu_codelet linked_{};
  starpu_codelet cell_{};
};

}  // namespace

int main(int argc, char** argv) {
  setenv("STARPU_SILENT", "1", 0);
  starpu_conf settings;
  starpu_conf_init(&settings);
  settings.ncpus = argc > 1 ? std::atoi(argv[1]) : 1;
  settings.ncuda = 0;
  settings.nopencl = 0;
  if (const int status = starpu_init(&settings); status != 0) {
    std::fprintf(stderr, "StarPU does not start: error %d\n", status);
    return 1;
  }
  Witness witness;
  const auto version = std::to_string(STARPU_MAJOR_VERSION) + "." + std::to_string(STARPU_MINOR_VERSION);
  int status = 0;
  {
    Tasks all{witness};
    const auto either = tasks::Way::either;
    const std::vector<tasks::Case> cases{
        {Pattern::independent, either, "task_submit", [&] { all.independent(); }},
        {Pattern::chain, either, "data", [&] { all.chain(); }},
        {Pattern::chain, either, "declare_deps", [&] { all.declared(Pattern::chain); }},
        {Pattern::wavefront, either, "data", [&] { all.wavefront(); }},
        {Pattern::wavefront, either, "declare_deps", [&] { all.declared(Pattern::wavefront); }},
    };
    status = tasks::serve("StarPU " + version, cases, witness);
  }
  starpu_shutdown();
  return status;
}
