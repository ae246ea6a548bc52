// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plait/trace/event.hpp"
#include "plait/trace/profile_options.hpp"
#include "plait/trace/recorder.hpp"
#include "plait/trace/sum_table.hpp"
#include "plait/trace/window.hpp"

namespace plait::record {

/// A profile of this rank: sums for each place, peer and size class in bounded memory, and the windows in which all
/// events are recorded, too.
///
/// Memory: `bytes_max`, and one chunk for each thread of the program after the first. Threads: any.
class Profile {
 public:
  static constexpr std::uint32_t chunk_bytes = trace::SumTable::chunk_bytes;
  static constexpr std::size_t bytes_max = trace::SumTables::bytes_max;

  /// Borrows the recorder.
  Profile(trace::Recorder& recorder, const trace::ProfileOptions& options);

  /// Counts a call.
  void add_call(std::uint16_t worker, const trace::CallEvent& call) noexcept;
  /// Counts a message that is complete. `posting`: the call that posted it.
  void add_message(std::uint16_t worker, const trace::MessageEvent& message, const trace::CallEvent& posting) noexcept;

  /// Null if there are none.
  [[nodiscard]] trace::Windows* windows() noexcept { return windows_.get(); }

 private:
  trace::SumTables sums_;
  std::unique_ptr<trace::Windows> windows_;
};

}  // namespace plait::record
