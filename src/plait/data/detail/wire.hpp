// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace plait::data::detail {

/// What the active messages of a collection begin with.
enum class MessageKind : std::uint32_t {
  termination,  ///< A `Termination::Note` follows.
  mail,         ///< To an element; its arguments follow.
  element,      ///< That moves here, `to`; it follows.
  moved,        ///< To its home: element `to` is on rank `origin`.
  known,        ///< Element `to` was last known on rank `origin`: to who has sent there by way of others.
  created,      ///< To its home: element `to` is new, on rank `origin`.
  erased,       ///< To its home: element `to` is no more.
};

/// Of all but notes on termination: these are counted, and handled in the order of their numbers.
struct Head {
  MessageKind kind = MessageKind::mail;
  std::uint32_t number = 0;  ///< Among those from the rank that sends it to the rank that gets it.
  std::uint64_t phase = 0;
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::int64_t method = 0;   ///< Of `mail`: where the function is, counted from a known one.
  std::uint64_t step = 0;    ///< Of `mail`: that it is an input of, or `no_step`.
  std::uint32_t origin = 0;  ///< Rank that has sent it first.
  std::uint32_t hops = 0;    ///< Ranks that it was forwarded by.
};
static_assert(sizeof(Head) == 56 && std::is_trivially_copyable_v<Head>);

}  // namespace plait::data::detail
