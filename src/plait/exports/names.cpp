// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/names.hpp"

#include <fmt/format.h>

namespace plait::exports {
namespace {

static_assert(static_cast<std::uint8_t>(Names::Kind::call_site) == static_cast<std::uint8_t>(trace::Role::call_site),
              "the first kinds are the roles");

/// As the Python reader calls what has no text in the file.
std::string unnamed(trace::Role role, trace::NameId id) {
  constexpr std::array<const char*, trace::role_count> words{"kind", "span", "counter", "function", "place"};
  return fmt::format("{} {}", words[static_cast<std::size_t>(role)], id.value());
}

}  // namespace

std::uint32_t Names::number(Kind kind, const std::string& text) {
  auto& known = numbers_[static_cast<std::size_t>(kind)];
  const auto [found, is_new] = known.try_emplace(text, static_cast<std::uint32_t>(names_.size()));
  if (is_new) {
    names_.push_back({kind, text});
  }
  return found->second;
}

std::uint32_t NamesOfRank::operator()(trace::NameId id) {
  if (id == last_ && !known_.empty()) {
    return last_number_;
  }
  auto found = known_.find(id.value());
  if (found == known_.end()) {
    const auto& texts = trace_.names[static_cast<std::size_t>(role_)];
    const auto text = texts.find(id);
    const bool has_text = text != texts.end() && !text->second.empty();
    const std::uint32_t number =
        names_.number(static_cast<Names::Kind>(role_), has_text ? text->second : unnamed(role_, id));
    found = known_.emplace(id.value(), number).first;
  }
  last_ = id;
  last_number_ = found->second;
  return last_number_;
}

}  // namespace plait::exports
