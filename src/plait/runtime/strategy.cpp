// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/strategy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plait/base/topology.hpp"
#include "plait/comm/packing.hpp"
#include "plait/version.hpp"

#ifdef PLAIT_WITH_MPI
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/library.hpp"
#include "plait/trace/preloaded_recorder.hpp"
#endif

namespace plait {

namespace {

using nlohmann::json;

constexpr std::string_view strategy_format = "plait-strategy";
constexpr int strategy_version = 1;
/// Files are a few KiB; what is larger is none.
constexpr std::size_t file_bytes_max = std::size_t{1} << 16U;
constexpr std::size_t packet_bytes_smallest = 1024;
constexpr std::size_t packet_bytes_largest = std::size_t{1} << 20U;
constexpr std::uint64_t period_microseconds_min = 10;
constexpr std::uint64_t period_microseconds_max = 1'000'000;
constexpr std::uint64_t copiers_largest = 1024;

/// The model of the first processor; the first lines of the file are enough, which is long on large machines.
std::string processor_name() {
  std::ifstream file{"/proc/cpuinfo"};
  std::string line;
  for (int i = 0; i < 40 && std::getline(file, line); ++i) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

Error unusable(std::string_view why) {
  return Error{ErrorCode::bad_input, fmt::format("{}; measure again with: plait doctor --measure", why)};
}

std::size_t packet_bytes_in(const json& choices, const char* name) {
  const auto found = choices.find(name);
  if (found == choices.end()) {
    return 0;
  }
  const auto bytes = found->get<std::uint64_t>();
  if (!found->is_number_unsigned() || bytes < packet_bytes_smallest || bytes > packet_bytes_largest) {
    throw unusable(fmt::format(
        "{} is {}, and must be from {} to {}", name, found->dump(), packet_bytes_smallest, packet_bytes_largest));
  }
  return bytes;
}

/// Throws nlohmann's exceptions when a value is of another type, `Error` when it is not valid.
Strategy choices_from(const json& choices) {
  constexpr std::array known{"shm_packet_bytes",
                             "mpi_packet_bytes",
                             "between_hosts_packet_bytes",
                             "packing",
                             "progress",
                             "progress_microseconds",
                             "copiers"};
  for (const auto& [name, value] : choices.items()) {
    if (std::ranges::find(known, std::string_view{name}) == known.end()) {
      throw unusable(fmt::format("there is no option '{}'", name));
    }
  }
  Strategy strategy{.packet_bytes = {.shm = packet_bytes_in(choices, "shm_packet_bytes"),
                                     .mpi = packet_bytes_in(choices, "mpi_packet_bytes"),
                                     .between_hosts = packet_bytes_in(choices, "between_hosts_packet_bytes")}};
  strategy.packing = choices.value("packing", "");
  if (!strategy.packing.empty()) {
    (void)comm::make_packing(strategy.packing);  // throws when there is none of that name
  }
  if (const auto found = choices.find("progress"); found != choices.end()) {
    strategy.progress = comm::progression_mode(found->get<std::string>());
    if (!strategy.progress) {
      throw unusable(fmt::format("there is no mode of progress {}", found->dump()));
    }
  }
  if (const auto found = choices.find("progress_microseconds"); found != choices.end()) {
    const auto count = found->get<std::uint64_t>();
    if (!found->is_number_unsigned() || count < period_microseconds_min || count > period_microseconds_max) {
      throw unusable(fmt::format("progress_microseconds is {}, and must be from {} to {}",
                                 found->dump(),
                                 period_microseconds_min,
                                 period_microseconds_max));
    }
    strategy.progress_period = std::chrono::microseconds{count};
  }
  if (const auto found = choices.find("copiers"); found != choices.end()) {
    const auto count = found->get<std::uint64_t>();
    if (!found->is_number_unsigned() || count < 1 || count > copiers_largest) {
      throw unusable(fmt::format("copiers is {}, and must be from 1 to {}", found->dump(), copiers_largest));
    }
    strategy.copiers = static_cast<std::uint32_t>(count);
  }
  return strategy;
}

MeasuredSystem system_from(const json& system) {
  return {.processor = system.at("processor").get<std::string>(),
          .cores = system.at("cores").get<std::uint32_t>(),
          .mpi = system.at("mpi").get<std::string>(),
          .plait = system.at("plait").get<std::string>()};
}

std::string in_words(const MeasuredSystem& system) {
  return fmt::format("{}, {} cores, {}, plait {}", system.processor, system.cores, system.mpi, system.plait);
}

/// Throws as `choices_from`.
Strategy strategy_from(const std::string& text, const MeasuredSystem& system) {
  const json content = json::parse(text);
  if (content.value("format", "") != strategy_format || content.value("version", 0) != strategy_version) {
    throw unusable(fmt::format("it is no {} of version {}", strategy_format, strategy_version));
  }
  if (const MeasuredSystem measured = system_from(content.at("system")); measured != system) {
    throw unusable(
        fmt::format("it was measured on another system ({}) than this ({})", in_words(measured), in_words(system)));
  }
  return choices_from(content.at("choices"));
}

}  // namespace

MeasuredSystem this_system() {
#ifdef PLAIT_WITH_MPI
  const std::string mpi = net::mpi_library_name();
#else
  const std::string mpi = "none";
#endif
  return {.processor = processor_name(),
          .cores = machine_core_count(),
          .mpi = mpi,
          .plait = fmt::format("{}.{}.{}", version_major, version_minor, version_patch)};
}

std::filesystem::path strategy_file(const MeasuredSystem& system) {
  const auto folder_in = [](const char* variable) {
    const char* const text = std::getenv(variable);
    return std::filesystem::path{text == nullptr ? "" : text};
  };
  std::filesystem::path cache = folder_in("XDG_CACHE_HOME");
  if (!cache.is_absolute()) {  // as the XDG Base Directory Specification demands
    const std::filesystem::path home = folder_in("HOME");
    if (home.empty()) {
      return {};
    }
    cache = home / ".cache";
  }
  std::string name = fmt::format("{} {} cores {}", system.processor, system.cores, system.mpi);
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.'; }, '-');
  return cache / "plait" / "strategy" / (name + ".json");
}

Result<Strategy> read_strategy(const std::filesystem::path& file, const MeasuredSystem& system) {
  std::ifstream stream{file, std::ios::binary};
  std::string text(file_bytes_max + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (!stream.eof() || text.empty()) {
    return Error{ErrorCode::io,
                 fmt::format("{}: it cannot be read, or is no strategy; measure again with: plait doctor --measure",
                             file.string())};
  }
  try {
    return strategy_from(text, system);
  } catch (const Error& error) {
    return Error{error.code(), fmt::format("{}: {}", file.string(), error.what())};
  } catch (const json::exception&) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: {}", file.string(), unusable("it is damaged, or not complete").what())};
  }
}

void apply(const Strategy& strategy, Options& options) {
  const auto choose_size = [](std::size_t& size, std::size_t measured) { size = size == 0 ? measured : size; };
  if (options.network.shm.packet_bytes_max == net::ShmOptions{}.packet_bytes_max) {
    choose_size(options.network.packet_bytes.shm, strategy.packet_bytes.shm);
  }
  choose_size(options.network.packet_bytes.mpi, strategy.packet_bytes.mpi);
  choose_size(options.network.packet_bytes.between_hosts, strategy.packet_bytes.between_hosts);
  if (options.messages.packing == "automatic" && !strategy.packing.empty()) {
    options.messages.packing = strategy.packing;
  }
  if (options.messages.copiers_max == 0 && strategy.copiers > 0) {
    options.messages.copiers_automatic = strategy.copiers;
  }
  comm::ProgressionOptions& progression = options.progression;
  if (progression.mode == comm::ProgressionMode::automatic && strategy.progress) {
    progression.mode = *strategy.progress;
    if (strategy.progress_period && progression.period_min == comm::ProgressionOptions{}.period_min) {
      progression.period_min = *strategy.progress_period;
      progression.period_max = std::max(progression.period_max, progression.period_min);
      progression.period_bulk = std::max(progression.period_bulk, progression.period_min);
    }
  }
}

#ifdef PLAIT_WITH_MPI
namespace {

/// A strategy as bytes: what rank 0 broadcasts.
struct BroadcastStrategy {
  PacketBytes packet_bytes;
  std::array<char, 32> packing{};  ///< Ends with a zero.
  std::int32_t progress = -1;
  std::int64_t progress_period = 0;  ///< Nanoseconds; 0: none.
  std::uint32_t copiers = 0;
};
static_assert(std::is_trivially_copyable_v<BroadcastStrategy>);

BroadcastStrategy to_bytes(const Strategy& strategy) {
  BroadcastStrategy bytes{.packet_bytes = strategy.packet_bytes};
  std::ranges::copy(std::string_view{strategy.packing}.substr(0, bytes.packing.size() - 1), bytes.packing.begin());
  if (strategy.progress) {
    bytes.progress = static_cast<std::int32_t>(*strategy.progress);
  }
  bytes.progress_period = strategy.progress_period.value_or(nanoseconds::zero()).count();
  bytes.copiers = strategy.copiers;
  return bytes;
}

Strategy from_bytes(const BroadcastStrategy& bytes) {
  Strategy strategy{.packet_bytes = bytes.packet_bytes, .packing = bytes.packing.data()};
  if (bytes.progress >= 0) {
    strategy.progress = static_cast<comm::ProgressionMode>(bytes.progress);
  }
  if (bytes.progress_period > 0) {
    strategy.progress_period = nanoseconds{bytes.progress_period};
  }
  strategy.copiers = bytes.copiers;
  return strategy;
}

/// The strategy that `setting` demands; replaces `setting` by the path of its file, or by "default".
Strategy find_strategy(std::string& setting) {
  const std::string wanted = std::exchange(setting, "default");
  if (wanted == "default") {
    return {};
  }
  const MeasuredSystem system = this_system();
  const std::filesystem::path file = wanted == "measured" ? strategy_file(system) : std::filesystem::path{wanted};
  std::error_code ignored;
  if (wanted == "measured" && !std::filesystem::exists(file, ignored)) {
    return {};
  }
  Result<Strategy> strategy = read_strategy(file, system);
  if (!strategy) {
    std::fprintf(stderr, "plait: the defaults are used in place of %s\n", strategy.error().what());
    return {};
  }
  setting = file.string();
  return std::move(strategy).value();
}

void print_choice(const Options& options) {
  std::string line = fmt::format("plait: strategy: {}", options.strategy);
  for (const auto& [name, value] : options.described()) {
    if (name.starts_with("pack") || name.starts_with("progress") || name == "copiers") {
      line += fmt::format(", {} {}", name, value);
    }
  }
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace

Options with_strategy(MPI_Comm communicator, Options options) {
  if (!net::detail::is_mpi_usable()) {
    return options;
  }
  const trace::OwnCalls own;
  int rank = 0;
  net::detail::check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  BroadcastStrategy bytes;
  if (rank == 0) {
    bytes = to_bytes(find_strategy(options.strategy));
  }
  net::detail::check_mpi(MPI_Bcast(&bytes, sizeof bytes, MPI_BYTE, 0, communicator), "MPI_Bcast");
  apply(from_bytes(bytes), options);
  if (rank == 0 && options.is_verbose) {
    print_choice(options);
  }
  return options;
}
#endif

}  // namespace plait
