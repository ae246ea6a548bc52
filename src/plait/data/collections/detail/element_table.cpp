// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/detail/element_table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/task/run/detail/failure.hpp"

namespace plait::data::detail {
namespace {

/// Inside a catch block: the exception as an error that begins with what it has prevented.
Error error_at_hand(const std::string& prevented) {
  const Error error = task::detail::current_error("it threw");
  return Error{error.code(), fmt::format("{}: {}", prevented, error.what())};
}

}  // namespace

Element* ElementTable::find(ElementId id) const {
  const auto place = by_id_.find(id.value());
  return place == by_id_.end() ? nullptr : place->second;
}

Element& ElementTable::here(ElementId id) const {
  Element* const element = find(id);
  if (element == nullptr) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("element {} of '{}' is not on rank {}", id.value(), info_.name, info_.self.value())};
  }
  return *element;
}

std::span<Element* const> ElementTable::in_order() {
  if (std::exchange(is_order_old_, false)) {
    order_.clear();
    for (const auto& [id, element] : by_id_) {
      order_.push_back(element);
    }
    std::ranges::sort(order_, {}, &Element::id);
  }
  return order_;
}

void ElementTable::insert(Element& element) {
  by_id_.emplace(element.id.value(), &element);
  is_order_old_ = true;
}

Element* ElementTable::remove(ElementId id) {
  Element* const element = &here(id);
  by_id_.erase(id.value());
  is_order_old_ = true;
  return element;
}

void ElementTable::clear() {
  for (const auto& [id, element] : by_id_) {
    info_.kind.destroy(element);
  }
  by_id_.clear();
  order_.clear();
}

Bytes ElementTable::pack(const Element& element) const {
  try {
    return info_.kind.pack(element);
  } catch (...) {
    throw error_at_hand(fmt::format(
        "element {} of '{}' cannot be packed on rank {}", element.id.value(), info_.name, info_.self.value()));
  }
}

Element* ElementTable::unpack(ElementId id, std::span<const std::byte> packed) const {
  try {
    Element* const element = info_.kind.unpack(packed);
    element->id = id;
    return element;
  } catch (...) {
    throw error_at_hand(
        fmt::format("element {} of '{}' cannot be unpacked on rank {}", id.value(), info_.name, info_.self.value()));
  }
}

}  // namespace plait::data::detail
