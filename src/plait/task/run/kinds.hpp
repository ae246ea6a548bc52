// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plait/base/type_name.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task {

namespace detail {

/// A name, and a hash that is the same on every rank. Lives as long as the program or its flow.
struct KindName {
  std::string_view name;
  std::uint64_t hash = 0;
};

/// FNV-1a; see http://www.isthe.com/chongo/tech/comp/fnv
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325U;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100'0000'01b3U;
  }
  return hash;
}

/// Returns the last part of a lambda's name.
[[nodiscard]] consteval std::string_view short_name(std::string_view name) {
  const std::size_t lambda = name.rfind("<lambda");
  return lambda == std::string_view::npos ? name : name.substr(lambda);
}

template <class Type>
inline constexpr KindName kind_of_type{.name = short_name(type_name<Type>()), .hash = hash_of(type_name<Type>())};

/// The name of a task that belongs to no graph.
struct Label {
  std::string name;
  trace::NameId trace_name{};
};

}  // namespace detail

/// Names tasks of a flow in errors, traces and pictures. From `Flow::kind`; valid while the flow lives.
class FlowKind {
 public:
  /// The kernel's type names the task.
  FlowKind() = default;
  explicit FlowKind(const detail::KindName& name) : name_{&name} {}

  explicit operator bool() const noexcept { return name_ != nullptr; }
  [[nodiscard]] const detail::KindName& name() const { return *name_; }

 private:
  const detail::KindName* name_ = nullptr;
};

/// The kinds of tasks of a front end by name, and their names in traces.
///
/// Threads: one at a time. Cost: a look-up, except for the label of the kind that was requested last.
class KindTable {
 public:
  explicit KindTable(trace::Recorder& recorder) noexcept : recorder_{recorder} {}

  /// Returns the kind called `name`, which is created at the first call. Valid while the table lives.
  [[nodiscard]] const detail::KindName& kind(std::string_view name) {
    const auto [at, is_new] = kinds_.try_emplace(std::string{name});
    if (is_new) {
      at->second = {.name = at->first, .hash = detail::hash_of(at->first)};
    }
    return at->second;
  }

  /// Returns the label of tasks of `kind`, which may be of another table. Valid while this table lives.
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
  const detail::KindName* last_kind_ = nullptr;  ///< Most often requested again.
  const detail::Label* last_label_ = nullptr;
};

}  // namespace plait::task
