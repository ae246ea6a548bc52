// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <mpi.h>

#include "plait/record/call.hpp"

/// The bytes that collectives send and receive, by their arguments. The size of a type is requested only if it is
/// significant in MPI, as programs may pass anything elsewhere.
namespace plait::record {

/// The bytes that a rank gives to all members, and gets from them, itself included.
struct Traffic {
  std::uint64_t given = 0;
  std::uint64_t got = 0;
  bool has_gaps_given = false;  ///< Its data is not contiguous in memory.
  bool has_gaps_got = false;
  std::vector<std::uint64_t> shares;  ///< Given to each member, if they differ.
};

/// A buffer with a count of elements.
struct TypedBuffer {
  const void* data = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type;
};

/// A buffer with a count for each member.
template <class Count>
struct TypedBuffers {
  const void* data = nullptr;
  const Count* counts = nullptr;
  MPI_Datatype type;
};

/// A buffer with a count and a type for each member.
template <class Count>
struct BuffersOfTypes {
  const void* data = nullptr;
  const Count* counts = nullptr;
  const MPI_Datatype* types = nullptr;
};

// Whether buffers have gaps in memory. `count`: of the parts.

[[nodiscard]] inline bool has_gaps(const Mpi& mpi, const TypedBuffer& part, std::size_t /*count*/ = 1) noexcept {
  return mpi.has_gaps(part.count, part.type);
}
template <class Count>
[[nodiscard]] bool has_gaps(const Mpi& mpi, const TypedBuffers<Count>& parts, std::size_t count) noexcept {
  return count > 0 && mpi.has_gaps(*std::max_element(parts.counts, parts.counts + count), parts.type);
}
template <class Count>
[[nodiscard]] bool has_gaps(const Mpi& mpi, const BuffersOfTypes<Count>& parts, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (mpi.has_gaps(parts.counts[i], parts.types[i])) {
      return true;
    }
  }
  return false;
}

/// Computes the traffic of collectives on a communicator.
class Traffics {
 public:
  Traffics(const Mpi& mpi, const Communicator& communicator) : mpi_{mpi}, communicator_{communicator} {}

  [[nodiscard]] static Traffic none() { return {}; }
  [[nodiscard]] Traffic broadcast(const TypedBuffer& part, int root) const {
    const bool gives = is_root(root);
    const bool gets = !gives && gives_to_root(root);
    return {.given = gives ? bytes(part) : 0,
            .got = gets ? bytes(part) : 0,
            .has_gaps_given = gives && has_gaps(mpi_, part),
            .has_gaps_got = gets && has_gaps(mpi_, part)};
  }
  [[nodiscard]] Traffic reduce(const TypedBuffer& part, int root) const {
    const bool gives = gives_to_root(root);
    const bool gets = is_root(root);
    return {.given = gives ? bytes(part) : 0,
            .got = gets ? bytes(part) : 0,
            .has_gaps_given = gives && has_gaps(mpi_, part),
            .has_gaps_got = gets && has_gaps(mpi_, part)};
  }
  /// MPI_Allreduce, MPI_Scan, MPI_Exscan.
  [[nodiscard]] Traffic reduce_for_all(const TypedBuffer& part) const {
    const bool scattered = has_gaps(mpi_, part);
    return {.given = bytes(part), .got = bytes(part), .has_gaps_given = scattered, .has_gaps_got = scattered};
  }
  [[nodiscard]] Traffic reduce_scatter_block(const TypedBuffer& part) const {
    const bool scattered = has_gaps(mpi_, part);
    return {.given = communicator_.local_size * bytes(part),
            .got = bytes(part),
            .has_gaps_given = scattered,
            .has_gaps_got = scattered};
  }

  // `Give` and `Get` are `TypedBuffer`, `TypedBuffers` or `BuffersOfTypes`.
  template <class Get>
  [[nodiscard]] Traffic gather(const TypedBuffer& give, const Get& get, int root) const {
    const bool is_in_place = give.data == MPI_IN_PLACE;
    const bool gets = is_root(root);
    return {.given = is_in_place           ? one(get, communicator_.self)
                     : gives_to_root(root) ? bytes(give)
                                           : 0,
            .got = gets ? all(get) : 0,
            .has_gaps_given = is_in_place ? has_gaps(mpi_, get, peers()) : gives_to_root(root) && has_gaps(mpi_, give),
            .has_gaps_got = gets && has_gaps(mpi_, get, peers())};
  }
  template <class Give>
  [[nodiscard]] Traffic scatter(const Give& give, const TypedBuffer& get, int root) const {
    Traffic traffic = is_root(root) ? giving(give) : Traffic{};
    if (get.data == MPI_IN_PLACE) {
      traffic.got = one(give, communicator_.self);
      traffic.has_gaps_got = traffic.has_gaps_given;
    } else if (gives_to_root(root)) {
      traffic.got = bytes(get);
      traffic.has_gaps_got = has_gaps(mpi_, get);
    }
    return traffic;
  }
  template <class Get>
  [[nodiscard]] Traffic all_gather(const TypedBuffer& give, const Get& get) const {
    const bool is_in_place = give.data == MPI_IN_PLACE;
    const bool scattered = has_gaps(mpi_, get, peers());
    return {.given = is_in_place ? one(get, communicator_.self) : bytes(give),
            .got = all(get),
            .has_gaps_given = is_in_place ? scattered : has_gaps(mpi_, give),
            .has_gaps_got = scattered};
  }
  template <class Each>
  [[nodiscard]] Traffic all_to_all(const Each& give, const Each& get) const {
    Traffic traffic = giving(give.data == MPI_IN_PLACE ? get : give);
    traffic.got = all(get);
    traffic.has_gaps_got = has_gaps(mpi_, get, peers());
    return traffic;
  }
  template <class Give, class Get>
  [[nodiscard]] Traffic with_neighbours(const Neighbours& neighbours, const Give& give, const Get& get) const {
    Traffic traffic{.has_gaps_given = has_gaps(mpi_, give, neighbours.destinations.size()),
                    .has_gaps_got = has_gaps(mpi_, get, neighbours.sources.size()),
                    .shares = std::vector<std::uint64_t>(communicator_.local_size)};
    for (std::size_t i = 0; i < neighbours.destinations.size(); ++i) {
      if (const int to = neighbours.destinations[i]; to >= 0) {
        traffic.shares[static_cast<std::size_t>(to)] += one(give, i);
      }
    }
    traffic.given = sum(traffic.shares);
    for (std::size_t i = 0; i < neighbours.sources.size(); ++i) {
      traffic.got += neighbours.sources[i] >= 0 ? one(get, i) : 0;
    }
    return traffic;
  }
  template <class Count>
  [[nodiscard]] Traffic reduce_scatter(const TypedBuffers<Count>& parts) const {
    const bool scattered = has_gaps(mpi_, parts, peers());
    return {.given = sum(each(parts)),
            .got = one(parts, communicator_.self),
            .has_gaps_given = scattered,
            .has_gaps_got = scattered};
  }

 private:
  [[nodiscard]] bool is_root(int root) const noexcept {
    return communicator_.is_inter ? root == MPI_ROOT
                                  : root >= 0 && static_cast<std::uint32_t>(root) == communicator_.self;
  }
  /// Whether this rank sends to or receives from the root: on an inter-communicator, only the other side does.
  [[nodiscard]] bool gives_to_root(int root) const noexcept { return !communicator_.is_inter || root >= 0; }
  [[nodiscard]] std::uint64_t bytes(const TypedBuffer& part) const noexcept {
    return mpi_.bytes(part.count, part.type);
  }
  [[nodiscard]] std::uint64_t one(const TypedBuffer& part, std::size_t /*every*/) const { return bytes(part); }
  template <class Count>
  [[nodiscard]] std::uint64_t one(const TypedBuffers<Count>& parts, std::size_t i) const {
    return mpi_.bytes(parts.counts[i], parts.type);
  }
  template <class Count>
  [[nodiscard]] std::uint64_t one(const BuffersOfTypes<Count>& parts, std::size_t i) const {
    return mpi_.bytes(parts.counts[i], parts.types[i]);
  }
  template <class Each>
  [[nodiscard]] std::vector<std::uint64_t> each(const Each& parts) const {
    std::vector<std::uint64_t> bytes(peers());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = one(parts, i);
    }
    return bytes;
  }
  [[nodiscard]] std::size_t peers() const noexcept { return communicator_.peer_count(); }
  /// The bytes to, or from, all peers.
  [[nodiscard]] std::uint64_t all(const TypedBuffer& part) const { return communicator_.peer_count() * bytes(part); }
  template <class Each>
  [[nodiscard]] std::uint64_t all(const Each& parts) const {
    return sum(each(parts));
  }
  /// The traffic of giving to all, with shares if they may differ.
  [[nodiscard]] Traffic giving(const TypedBuffer& part) const {
    return {.given = all(part), .has_gaps_given = has_gaps(mpi_, part)};
  }
  template <class Each>
  [[nodiscard]] Traffic giving(const Each& parts) const {
    Traffic traffic{.has_gaps_given = has_gaps(mpi_, parts, peers()), .shares = each(parts)};
    traffic.given = sum(traffic.shares);
    return traffic;
  }
  [[nodiscard]] static std::uint64_t sum(const std::vector<std::uint64_t>& parts) noexcept {
    return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
  }

  const Mpi& mpi_;
  const Communicator& communicator_;
};

/// Returns the neighbours of this rank in a communicator with a topology.
[[nodiscard]] const Neighbours& neighbours_of(Call& call, MPI_Comm handle);

// Record the traffic of a collective: a blocking one, a non-blocking one, one that `MPI_Start` will start.

void moved(Call& call, const Traffic& traffic);
void begun(Call& call, const Traffic& traffic, MPI_Request request);
void prepared(Call& call, MPI_Comm handle, const Traffic& traffic, MPI_Request request);

/// Records what the event of a collective has no room for: the shares, and gaps in its data. `collective`: the call
/// that started it.
void record_details(Call& call, const trace::CallEvent& collective, const Traffic& traffic);

}  // namespace plait::record
