// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include "plait/record/call.hpp"

/// What collectives give and get, by their arguments. The size of a type is requested only where it counts in MPI:
/// programs give anything elsewhere.
namespace plait::record {

/// What a rank gives to the others, and gets from them, itself included.
struct Traffic {
  std::uint64_t given = 0;
  std::uint64_t got = 0;
  std::vector<std::uint64_t> shares;  ///< Given to each member, where that is not the same for all.
};

/// A number of elements of a type.
struct TypedBuffer {
  const void* data = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type;
};

/// Another number for each member.
template <class Count>
struct TypedBuffers {
  const void* data = nullptr;
  const Count* counts = nullptr;
  MPI_Datatype type;
};

/// Another number and another type for each member.
template <class Count>
struct BuffersOfTypes {
  const void* data = nullptr;
  const Count* counts = nullptr;
  const MPI_Datatype* types = nullptr;
};

/// A collective on a communicator.
class Traffics {
 public:
  Traffics(const Mpi& mpi, const Communicator& communicator) : mpi_{mpi}, communicator_{communicator} {}

  [[nodiscard]] static Traffic none() { return {}; }
  [[nodiscard]] Traffic broadcast(const TypedBuffer& part, int root) const;
  [[nodiscard]] Traffic reduce(const TypedBuffer& part, int root) const;
  /// MPI_Allreduce, MPI_Scan, MPI_Exscan.
  [[nodiscard]] Traffic reduce_for_all(const TypedBuffer& part) const;
  [[nodiscard]] Traffic reduce_scatter_block(const TypedBuffer& part) const;

  // `Give` and `Get` are `TypedBuffer`, `TypedBuffers` or `BuffersOfTypes`.
  template <class Get>
  [[nodiscard]] Traffic gather(const TypedBuffer& give, const Get& get, int root) const {
    const bool is_in_place = give.data == MPI_IN_PLACE;
    return {.given = is_in_place           ? one(get, communicator_.self)
                     : gives_to_root(root) ? bytes(give)
                                           : 0,
            .got = is_root(root) ? all(get) : 0};
  }
  template <class Give>
  [[nodiscard]] Traffic scatter(const Give& give, const TypedBuffer& get, int root) const {
    Traffic traffic = is_root(root) ? giving(give) : Traffic{};
    traffic.got = get.data == MPI_IN_PLACE ? one(give, communicator_.self) : gives_to_root(root) ? bytes(get) : 0;
    return traffic;
  }
  template <class Get>
  [[nodiscard]] Traffic all_gather(const TypedBuffer& give, const Get& get) const {
    return {.given = give.data == MPI_IN_PLACE ? one(get, communicator_.self) : bytes(give), .got = all(get)};
  }
  template <class Each>
  [[nodiscard]] Traffic all_to_all(const Each& give, const Each& get) const {
    Traffic traffic = giving(give.data == MPI_IN_PLACE ? get : give);
    traffic.got = all(get);
    return traffic;
  }
  template <class Give, class Get>
  [[nodiscard]] Traffic with_neighbours(const Neighbours& neighbours, const Give& give, const Get& get) const {
    Traffic traffic{.shares = std::vector<std::uint64_t>(communicator_.local_size)};
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
    return {.given = sum(each(parts)), .got = one(parts, communicator_.self)};
  }

 private:
  [[nodiscard]] bool is_root(int root) const noexcept {
    return communicator_.is_inter ? root == MPI_ROOT
                                  : root >= 0 && static_cast<std::uint32_t>(root) == communicator_.self;
  }
  /// Whether a rank takes part towards the root: of an inter-communicator only those of the other side do.
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
    std::vector<std::uint64_t> bytes(communicator_.is_inter ? communicator_.peer_count() : communicator_.local_size);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = one(parts, i);
    }
    return bytes;
  }
  /// To, or from, all peers together.
  [[nodiscard]] std::uint64_t all(const TypedBuffer& part) const { return communicator_.peer_count() * bytes(part); }
  template <class Each>
  [[nodiscard]] std::uint64_t all(const Each& parts) const {
    return sum(each(parts));
  }
  /// What is given to all, with its shares where they may differ.
  [[nodiscard]] Traffic giving(const TypedBuffer& part) const { return {.given = all(part)}; }
  template <class Each>
  [[nodiscard]] Traffic giving(const Each& parts) const {
    Traffic traffic{.shares = each(parts)};
    traffic.given = sum(traffic.shares);
    return traffic;
  }
  [[nodiscard]] static std::uint64_t sum(const std::vector<std::uint64_t>& parts) noexcept;

  const Mpi& mpi_;
  const Communicator& communicator_;
};

/// Of a communicator with a topology.
[[nodiscard]] const Neighbours& neighbours_of(Call& call, MPI_Comm handle);

/// Writes down what a collective moves: one that is over, one that has begun, one that `MPI_Start` will begin.
void moved(Call& call, const Traffic& traffic);
void begun(Call& call, const Traffic& traffic, MPI_Request request);
void prepared(Call& call, MPI_Comm handle, const Traffic& traffic, MPI_Request request);

}  // namespace plait::record
