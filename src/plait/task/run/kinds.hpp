// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plait/task/flow/kind.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task {

namespace detail {

/// What a task that is of no graph is called.
struct Label {
  std::string name;
  trace::NameId trace_name{};
};

}  // namespace detail

/// The kinds of tasks of a front end, by name, and what they are called in traces.
///
/// Threads: one at a time. Cost: a look-up; none for the label of the kind that was requested last.
class KindTable {
 public:
  explicit KindTable(trace::Recorder& recorder) noexcept : recorder_{recorder} {}

  /// The kind called `name`, made at the first call. Valid while the table is.
  [[nodiscard]] const detail::KindName& kind(std::string_view name) {
    const auto [at, is_new] = kinds_.try_emplace(std::string{name});
    if (is_new) {
      at->second = {.name = at->first, .hash = detail::hash_of(at->first)};
    }
    return at->second;
  }

  /// What tasks of `kind` are called, which need not be of this table. Valid while the table is.
  [[nodiscard]] const detail::Label& label(const detail::KindName& kind) {
    if (last_kind_ != &kind) {
      std::unique_ptr<detail::Label>& known = labels_[&kind];
      if (!known) {
        known = std::make_unique<detail::Label>(
            detail::Label{std::string{kind.name}, recorder_.name(trace::Role::task, kind.name)});
      }
      last_kind_ = &kind;
      last_label_ = known.get();
    }
    return *last_label_;
  }

 private:
  trace::Recorder& recorder_;
  std::unordered_map<std::string, detail::KindName> kinds_;
  std::unordered_map<const detail::KindName*, std::unique_ptr<detail::Label>> labels_;
  const detail::KindName* last_kind_ = nullptr;  ///< Mostly the next one, too.
  const detail::Label* last_label_ = nullptr;
};

}  // namespace plait::task
