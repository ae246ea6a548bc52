// SPDX-License-Identifier: Apache-2.0
#include "plait/record/profile.hpp"

#include <algorithm>

namespace plait::record {

Profile::Profile(trace::Recorder& recorder, const trace::ProfileOptions& options)
    : sums_{recorder, trace::SumsOf::calls} {
  if (options.windows) {
    windows_ = std::make_unique<trace::Windows>(*options.windows, recorder);
  }
}

void Profile::add_call(std::uint16_t worker, const trace::CallEvent& call) noexcept {
  const trace::SumKey key{.of = static_cast<std::uint8_t>(trace::SumOf::calls),
                          .worker = worker,
                          .name = call.function.value(),
                          .place = call.site.value(),
                          .peer = call.peer,
                          .communicator = call.communicator,
                          .what = static_cast<std::uint8_t>(call.what),
                          .size_class = trace::size_class_of(std::max(call.bytes_given, call.bytes_got))};
  sums_.add(key, {call.start, call.end, call.bytes_given, call.bytes_got});
}

void Profile::add_message(std::uint16_t worker,
                          const trace::MessageEvent& message,
                          const trace::CallEvent& posting) noexcept {
  const bool is_sent = message.direction == trace::MessageDirection::sent;
  const trace::SumKey key{.of = static_cast<std::uint8_t>(is_sent ? trace::SumOf::sent : trace::SumOf::received),
                          .worker = worker,
                          .name = posting.function.value(),
                          .place = posting.site.value(),
                          .peer = message.peer.value(),
                          .communicator = message.communicator,
                          .size_class = trace::size_class_of(message.bytes)};
  sums_.add(key, {message.posted, message.completed, message.bytes, 0});
}

}  // namespace plait::record
