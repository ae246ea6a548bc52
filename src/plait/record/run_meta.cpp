// SPDX-License-Identifier: Apache-2.0
#include "plait/record/run_meta.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace plait::record {
namespace {

std::vector<std::string> own_command() {
  std::ifstream file{"/proc/self/cmdline", std::ios::binary};
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) {
    arguments.push_back(argument);
  }
  return arguments;
}

std::vector<std::string> hosts_of(const Mpi& mpi, MPI_Comm handle, std::uint32_t rank_count) {
  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
  Name own{};
  int length = 0;
  mpi.get_processor_name(own.data(), &length);
  std::vector<Name> all(rank_count);
  const auto size = static_cast<int>(own.size());
  mpi.gather(own.data(), size, mpi.byte, all.data(), size, mpi.byte, 0, handle);
  std::vector<std::string> hosts;
  for (const Name& name : all) {
    hosts.emplace_back(name.data());
  }
  return hosts;
}

std::string version_of(const Mpi& mpi) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  mpi.get_library_version(text.data(), &length);
  const std::string_view whole{text.data()};
  return std::string{whole.substr(0, whole.find_first_of("\n,"))};
}

}  // namespace

trace::Meta describe_run(const Mpi& mpi, MPI_Comm world, const KnownCommunicators& communicators) {
  trace::Meta meta;
  meta.command = own_command();
  meta.program = meta.command.empty() ? "" : std::filesystem::path{meta.command.front()}.filename().string();
  meta.ranks = communicators.run_size();
  meta.workers = 1;
  meta.hosts = hosts_of(mpi, world, meta.ranks);
  meta.started = std::chrono::system_clock::now();
  meta.mpi = version_of(mpi);
  meta.recorder = "mpi";
  return meta;
}

void write_run(const std::filesystem::path& folder, const trace::Meta& meta, const KnownCommunicators& ranks) noexcept {
  try {
    if (ranks.run_rank() == 0) {
      trace::write_meta(folder, meta);
    }
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "plait: %s; the ranks' files are recorded all the same\n", trouble.what());
  }
}

}  // namespace plait::record
