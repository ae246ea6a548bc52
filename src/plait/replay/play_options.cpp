// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/play_options.hpp"

#include <optional>

#include <fmt/format.h>

#include "plait/replay/detail/description.hpp"

namespace plait::replay {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

/// The flag of a role by its name; null for an unknown name.
bool* role_of(Roles& roles, std::string_view name) {
  return name == "inject"     ? &roles.injects
         : name == "sends"    ? &roles.polls_sends
         : name == "receives" ? &roles.polls_receives
                              : nullptr;
}

}  // namespace

Result<std::vector<Roles>> threads_from(std::string_view text) {
  if (text == "one") {
    return std::vector<Roles>{{true, true, true}};
  }
  if (text == "streams" || text == "lanes") {  // the name until version 0.1
    return std::vector<Roles>{};
  }
  std::vector<Roles> threads;
  Roles taken;
  for (const std::string_view thread : split(text, ',')) {
    Roles& roles = threads.emplace_back();
    for (const std::string_view name : split(thread, '+')) {
      bool* const noted = role_of(taken, name);
      if (noted == nullptr) {
        return Error{
            ErrorCode::bad_argument,
            fmt::format("--threads {}: there is no role '{}'; give one, streams, or threads separated by commas, each "
                        "with roles out of inject, sends and receives joined by plus signs",
                        text,
                        name)};
      }
      if (*noted) {
        return Error{ErrorCode::bad_argument,
                     fmt::format("--threads {}: two threads cannot both have the role {}", text, name)};
      }
      *noted = true;
      *role_of(roles, name) = true;
    }
  }
  threads.front().injects |= !taken.injects;
  threads.front().polls_sends |= !taken.polls_sends;
  threads.front().polls_receives |= !taken.polls_receives;
  return threads;
}

Result<double> rate_from(std::string_view text) {
  if (text == "max") {
    return 0.0;
  }
  if (text == "logged") {
    return 1.0;
  }
  const std::optional<double> factor = detail::parse_number(text);
  if (!factor || *factor <= 0) {
    return Error{ErrorCode::bad_argument,
                 fmt::format("--rate {}: give max, logged, or a factor above 0 (2 is twice as fast as logged)", text)};
  }
  return *factor;
}

}  // namespace plait::replay
