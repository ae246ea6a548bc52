// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/network_options.hpp"

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait {
namespace {

using net::SingleCopy;

constexpr std::array<std::pair<std::string_view, NetworkChoice>, 4> choices{{{"automatic", NetworkChoice::automatic},
                                                                             {"mpi", NetworkChoice::mpi},
                                                                             {"shm", NetworkChoice::shm},
                                                                             {"ofi", NetworkChoice::ofi}}};
constexpr std::array<std::pair<std::string_view, SingleCopy>, 2> copies{
    {{"automatic", SingleCopy::automatic}, {"never", SingleCopy::never}}};

std::string text_from(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

/// Sets `value` to what the variable says, if it says anything.
template <class Words, class Value>
void choose(const char* variable, const Words& words, Value& value) {
  const std::string text = text_from(variable);
  if (text.empty()) {
    return;
  }
  std::string known;
  for (const auto& [word, meaning] : words) {
    if (word == text) {
      value = meaning;
      return;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
  }
  throw Error{ErrorCode::bad_input,
              fmt::format("the environment variable {} is '{}': it must be one of {}", variable, text, known)};
}

}  // namespace

const char* to_string(NetworkChoice choice) noexcept {
  return choices[static_cast<std::size_t>(choice)].first.data();
}

NetworkOptions NetworkOptions::from_environment() {
  NetworkOptions options;
  choose("PLAIT_NETWORK", choices, options.choice);
  choose("PLAIT_SINGLE_COPY", copies, options.shm.single_copy);
  options.host = text_from("PLAIT_HOST");
  options.ofi_address = text_from("PLAIT_OFI_ADDRESS");
  return options;
}

std::map<std::string, std::string> NetworkOptions::described() const {
  return {{"network", to_string(choice)},
          {"single_copy", shm.single_copy == SingleCopy::automatic ? "automatic" : "never"}};
}

}  // namespace plait
