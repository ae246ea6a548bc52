// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"

namespace plait::data::balance {

Settings::Settings(std::string_view balancer, std::string_view text) : balancer_{balancer} {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const std::size_t middle = one.find('=');
    if (middle == std::string_view::npos || middle == 0) {
      refuse(one, "is not option=value: write it as in hypercube:sweeps=3,tolerance=1e-4");
    }
    if (!entries_.emplace(one.substr(0, middle), Entry{std::string{one.substr(middle + 1)}}).second) {
      refuse(one.substr(0, middle), "is given twice");
    }
  }
}

template <class Number>
Number Settings::parsed(std::string_view option, Number otherwise, Number least, std::string_view kind) {
  const std::string* const text = find(option);
  if (text == nullptr) {
    return otherwise;
  }
  Number value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, trouble] = std::from_chars(text->data(), end, value);
  if (trouble != std::errc{} || stop != end || !std::isfinite(static_cast<double>(value)) || value < least) {
    refuse(option, fmt::format("is \"{}\", and must be a {} of at least {}", *text, kind, least));
  }
  return value;
}

double Settings::number(std::string_view option, double otherwise, double least) {
  return parsed(option, otherwise, least, "number");
}

std::uint32_t Settings::count(std::string_view option, std::uint32_t otherwise, std::uint32_t least) {
  return parsed(option, otherwise, least, "whole number");
}

std::size_t Settings::choice(std::string_view option,
                             std::span<const std::string_view> choices,
                             std::size_t otherwise) {
  const std::string* const text = find(option);
  if (text == nullptr) {
    return otherwise;
  }
  const auto found = std::ranges::find(choices, std::string_view{*text});
  if (found == choices.end()) {
    refuse(option, fmt::format("is \"{}\", and must be one of {}", *text, fmt::join(choices, ", ")));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

void Settings::expect_all_asked() const {
  for (const auto& [option, entry] : entries_) {
    if (!entry.is_asked) {
      refuse(option, "is unknown: it has " + (known_.empty() ? "no options" : known_));
    }
  }
}

const std::string* Settings::find(std::string_view option) {
  known_ += fmt::format("{}{}", known_.empty() ? "" : ", ", option);
  const auto found = entries_.find(option);
  if (found == entries_.end()) {
    return nullptr;
  }
  found->second.is_asked = true;
  return &found->second.text;
}

void Settings::refuse(std::string_view option, const std::string& why) const {
  throw Error{ErrorCode::bad_argument, fmt::format("option {} of the balancer {} {}", option, balancer_, why)};
}

}  // namespace plait::data::balance
