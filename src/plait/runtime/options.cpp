// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/packing.hpp"

namespace plait {

namespace {

struct Range {
  std::uint64_t min;
  std::uint64_t max;
};

/// Sets `value` from the environment variable, if it is set to a text.
void choose(const char* variable, std::string& value) {
  if (const char* const text = std::getenv(variable); text != nullptr && *text != '\0') {
    value = text;
  }
}

std::optional<std::uint64_t> number_from(const char* variable, const Range& range) {
  std::string text;
  choose(variable, text);
  if (text.empty()) {
    return {};
  }
  const std::string_view view{text};
  std::uint64_t value = 0;
  const auto [end, trouble] = std::from_chars(view.begin(), view.end(), value);
  if (trouble != std::errc{} || end != view.end() || value < range.min || value > range.max) {
    throw Error{ErrorCode::bad_input,
                fmt::format("the environment variable {} is '{}': it must be a whole number from {} to {}",
                            variable,
                            view,
                            range.min,
                            range.max)};
  }
  return value;
}

}  // namespace

NetworkOptions NetworkOptions::from_environment() {
  NetworkOptions options;
  if (const auto bytes = number_from("PLAIT_PACKET_BYTES", {1024, 1U << 20U})) {
    options.packet_bytes = {*bytes, *bytes, *bytes};
  }
  choose("PLAIT_NETWORK", options.network);
  choose("PLAIT_HOST", options.host);
  choose("PLAIT_OFI_ADDRESS", options.ofi_address);
  std::string copy = "automatic";
  choose("PLAIT_SINGLE_COPY", copy);
  if (copy == "never") {
    options.shm.single_copy = net::SingleCopy::never;
  } else if (copy != "automatic") {
    throw Error{ErrorCode::bad_input, fmt::format("PLAIT_SINGLE_COPY is '{}': choose one of automatic, never", copy)};
  }
  return options;
}

Options Options::from_environment() {
  Options options;
  options.network = NetworkOptions::from_environment();
  if (const auto count = number_from("PLAIT_WORKERS", {1, 1024})) {
    options.worker_count = static_cast<std::uint32_t>(*count);
  }
  if (const char* const folder = std::getenv("PLAIT_TRACE")) {
    options.trace_folder = folder;
  }
  options.profile = trace::ProfileOptions::from_environment();
  if (const auto seconds = number_from("PLAIT_STALL_SECONDS", {0, 1'000'000'000})) {
    options.stall_max = std::chrono::seconds{*seconds};
  }
  if (const auto bytes = number_from("PLAIT_EAGER_BYTES", {0, 1U << 30U})) {
    options.messages.eager_bytes_max = *bytes;
  }
  if (const auto count = number_from("PLAIT_COPIERS", {1, 1024})) {
    options.messages.copiers_max = static_cast<std::uint32_t>(*count);
  }
  if (const auto microseconds = number_from("PLAIT_SPIN_MICROSECONDS", {0, 1'000'000})) {
    options.messages.wait.spin = std::chrono::microseconds{*microseconds};
  }
  choose("PLAIT_PACKING", options.messages.packing);
  (void)comm::make_packing(options.messages.packing);  // throws when there is none of that name
  std::string progress;
  choose("PLAIT_PROGRESS", progress);
  if (!progress.empty()) {
    const auto mode = comm::progression_mode(progress);
    if (!mode) {
      throw Error{
          ErrorCode::bad_input,
          fmt::format(
              "the environment variable PLAIT_PROGRESS is '{}': it must be automatic, none, timer, idle or dedicated",
              progress)};
    }
    options.progression.mode = *mode;
  }
  if (const auto microseconds = number_from("PLAIT_PROGRESS_MICROSECONDS", {10, 1'000'000})) {
    options.progression.period_min = std::chrono::microseconds{*microseconds};
    options.progression.period_max = std::max(options.progression.period_max, options.progression.period_min);
    options.progression.period_bulk = std::max(options.progression.period_bulk, options.progression.period_min);
    if (options.progression.mode == comm::ProgressionMode::automatic) {
      options.progression.mode = comm::ProgressionMode::timer;
    }
  }
  options.strategy = "measured";
  choose("PLAIT_STRATEGY", options.strategy);
  std::string verbose;
  choose("PLAIT_VERBOSE", verbose);
  options.is_verbose = !verbose.empty() && verbose != "0";
  return options;
}

namespace {

/// With the number if that was measured.
std::string automatic_copiers(const comm::EndpointOptions& messages) {
  return messages.copiers_automatic == comm::copiers_by_default
             ? "automatic"
             : fmt::format("automatic ({})", messages.copiers_automatic);
}

}  // namespace

std::map<std::string, std::string> Options::described() const {
  using std::chrono::duration_cast;
  const auto bytes = [](std::size_t chosen) { return chosen == 0 ? "automatic" : fmt::to_string(chosen); };
  return {{"strategy", strategy},
          {"profile", profile ? "on" : "off"},
          {"network", network.network},
          {"packet_bytes_shm", bytes(network.packet_bytes.shm)},
          {"packet_bytes_mpi", bytes(network.packet_bytes.mpi)},
          {"packet_bytes_between_hosts", bytes(network.packet_bytes.between_hosts)},
          {"single_copy", network.shm.single_copy == net::SingleCopy::automatic ? "automatic" : "never"},
          {"workers", fmt::to_string(worker_count)},
          {"packing", messages.packing},
          {"progress", comm::to_string(progression.mode)},
          {"progress_microseconds",
           fmt::to_string(duration_cast<std::chrono::microseconds>(progression.period_min).count())},
          {"stall_seconds", fmt::to_string(duration_cast<std::chrono::seconds>(stall_max).count())},
          {"eager_bytes",
           messages.eager_bytes_max == static_cast<std::size_t>(-1) ? "what fits a packet"
                                                                    : fmt::to_string(messages.eager_bytes_max)},
          {"copiers", messages.copiers_max == 0 ? automatic_copiers(messages) : fmt::to_string(messages.copiers_max)},
          {"spin_microseconds", fmt::to_string(duration_cast<std::chrono::microseconds>(messages.wait.spin).count())}};
}

}  // namespace plait
