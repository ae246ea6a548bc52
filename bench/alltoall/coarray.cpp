// SPDX-License-Identifier: Apache-2.0
#include "alltoall/coarray.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sched.h>
#include <sstream>
#include <unistd.h>

#include <fmt/format.h>

#include "plait/base/topology.hpp"

namespace alltoall {

namespace {

constexpr int seconds_max = 60;
constexpr const char* label = "coarray Fortran";

std::filesystem::path program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "alltoall_coarray";
}

/// This rank may have been bound to a core, and what it starts would be bound to the same.
void leave_core() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    CPU_SET(core, &all);
  }
  sched_setaffinity(0, sizeof all, &all);
}

/// Takes away what tells a process that it belongs to a job, so that the launcher starts a new one.
std::string without_job() {
  std::string text = "env";
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view name = std::string_view{*one}.substr(0, std::string_view{*one}.find('='));
    const bool is_of_job = name.starts_with("OMPI_") || name.starts_with("PMIX_") || name.starts_with("PRTE_");
    if (is_of_job && !name.starts_with("OMPI_ALLOW_RUN_AS_ROOT")) {
      text += fmt::format(" -u {}", name);
    }
  }
  return text;
}

std::string command_for(const Options& options, std::size_t ranks, const SizeMeasured& beside) {
  const bool has_cores = ranks <= plait::machine_core_count();
  return fmt::format("{} timeout {} mpiexec -n {} {} '{}' {} {} {} {} {} 2>&1",
                     without_job(),
                     seconds_max,
                     ranks,
                     has_cores ? "--bind-to core" : "--oversubscribe --bind-to none",
                     program().string(),
                     ranks,
                     beside.block_bytes,
                     options.turns * options.iterations,
                     beside.work_units[0],
                     options.settings.chunk_bytes);
}

/// Of each variant, its iterations.
using Iterations = std::map<std::string, std::vector<Turn>>;

/// What the program says beside its figures, if it fails.
std::string run(const std::string& command, Iterations& iterations) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return "no shell to start it with";
  }
  std::string complaint;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::istringstream text{line};
    std::string name;
    Turn turn;
    if (text >> name >> turn.total >> turn.work && (name == "CoM" || name == "CrB")) {
      iterations[name].push_back(turn);
    } else if (complaint.empty()) {
      complaint = std::string{line}.substr(0, std::string_view{line}.find('\n'));
    }
  }
  const int status = pclose(pipe);
  if (status == 0) {
    return {};
  }
  return complaint.empty() ? fmt::format("it failed, or took more than {} s", seconds_max) : complaint;
}

Measured measured_from(const Member& variant, const std::vector<Turn>& iterations, std::size_t in_a_turn) {
  Measured measured{.variant = variant, .iterations = iterations.size(), .label = label};
  const auto least = [&](double Turn::* part) { return (*std::ranges::min_element(iterations, {}, part)).*part; };
  measured.best[0] = {least(&Turn::total), least(&Turn::work)};
  for (std::size_t first = 0; first < iterations.size(); first += in_a_turn) {
    std::vector<double> totals;
    std::vector<double> works;
    for (std::size_t i = first; i < std::min(first + in_a_turn, iterations.size()); ++i) {
      totals.push_back(iterations[i].total);
      works.push_back(iterations[i].work);
    }
    measured.turns[0].push_back({median_of(totals), median_of(works)});
  }
  return measured;
}

std::string reason_against(const Options& options) {
  if (options.work != WorkKind::sincos) {
    return "its work is sincos only";
  }
  std::error_code ignored;
  if (!std::filesystem::exists(program(), ignored)) {
    return "not built, for want of gfortran or OpenCoarrays (Debian: gfortran libcoarrays-openmpi-dev)";
  }
  return {};
}

}  // namespace

CoarrayOutcome run_coarray(const Options& options, std::size_t ranks, const SizeMeasured& beside) {
  CoarrayOutcome outcome{.measured = {.block_bytes = beside.block_bytes}};
  outcome.left_out = reason_against(options);
  if (!outcome.left_out.empty()) {
    return outcome;
  }
  leave_core();
  Iterations iterations;
  outcome.left_out = run(command_for(options, ranks, beside), iterations);
  if (!outcome.left_out.empty()) {
    return outcome;
  }
  for (const Measured& one : beside.variants) {
    if (one.variant.name == "MPI") {
      outcome.measured.variants.push_back(one);
    }
  }
  for (const Member& variant : {Member{"CoM", "", ""}, Member{"CrB", "", ""}}) {
    const auto& found = iterations[std::string{variant.name}];
    if (!found.empty()) {
      outcome.measured.variants.push_back(measured_from(variant, found, options.iterations));
    }
  }
  return outcome;
}

}  // namespace alltoall
