// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/network_options.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait {
namespace {

/// Sets `value` from the environment variable, if it is set to a text.
void choose(const char* variable, std::string& value) {
  if (const char* const text = std::getenv(variable); text != nullptr && *text != '\0') {
    value = text;
  }
}

}  // namespace

NetworkOptions NetworkOptions::from_environment() {
  NetworkOptions options;
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

std::map<std::string, std::string> NetworkOptions::described() const {
  return {{"network", network}, {"single_copy", shm.single_copy == net::SingleCopy::automatic ? "automatic" : "never"}};
}

}  // namespace plait
