// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

#include <mpi.h>

#include "plait/trace/event.hpp"

/// The preload library of `plait record`: it intercepts calls to MPI, records them, and forwards them.
namespace plait::record {

/// As `preload::find_real`; ends the process with an error message if there is none.
[[nodiscard]] void* need_real(const char* name) noexcept;

/// An intercepted function. One static, constant-initialised object each. Threads: any.
class Function {
 public:
  /// `real_name`: of the function to forward to, `PMPI_...`.
  constexpr explicit Function(const char* real_name) : real_name_{real_name} {}

  template <class Signature>
  [[nodiscard]] Signature* real() noexcept {
    void* found = real_.load(std::memory_order_relaxed);  // any finder gets the same value
    if (found == nullptr) [[unlikely]] {
      found = need_real(real_name_);
      real_.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<Signature*>(found);
  }
  [[nodiscard]] const char* name() const noexcept { return real_name_ + 1; }
  /// The number of its name in the trace, once known; a process has one trace.
  std::atomic<std::uint32_t> id = trace::nothing;

 private:
  const char* real_name_;
  std::atomic<void*> real_ = nullptr;
};

/// A function of the MPI library that the recorder calls; found by the constructor.
template <class Signature>
class Real {
 public:
  explicit Real(const char* name) : function_{reinterpret_cast<Signature*>(need_real(name))} {}
  template <class... Arguments>
  int operator()(Arguments... arguments) const {
    return function_(arguments...);
  }

 private:
  Signature* function_;
};

/// The size of a datatype, and what it takes in memory.
struct DatatypeQueries {
  Real<decltype(::PMPI_Type_size_x)> size{"PMPI_Type_size_x"};
  Real<decltype(::PMPI_Type_get_extent_x)> extent{"PMPI_Type_get_extent_x"};
  Real<decltype(::PMPI_Type_get_true_extent_x)> true_extent{"PMPI_Type_get_true_extent_x"};
};

/// The functions and constants of MPI that the recorder uses.
///
/// The recorder is not linked with MPI, as it is loaded into processes without it (launchers, shells). So constants
/// that are addresses in the library, as those of Open MPI, have to be found too.
struct Mpi {
  Mpi();  ///< Finds all of them. Expects: MPI is initialised.

  Real<decltype(::PMPI_Bcast)> bcast{"PMPI_Bcast"};
  Real<decltype(::PMPI_Comm_dup)> comm_dup{"PMPI_Comm_dup"};
  Real<decltype(::PMPI_Comm_free)> comm_free{"PMPI_Comm_free"};
  Real<decltype(::PMPI_Comm_get_parent)> comm_get_parent{"PMPI_Comm_get_parent"};
  Real<decltype(::PMPI_Comm_group)> comm_group{"PMPI_Comm_group"};
  Real<decltype(::PMPI_Comm_rank)> comm_rank{"PMPI_Comm_rank"};
  Real<decltype(::PMPI_Comm_remote_group)> comm_remote_group{"PMPI_Comm_remote_group"};
  Real<decltype(::PMPI_Comm_size)> comm_size{"PMPI_Comm_size"};
  Real<decltype(::PMPI_Comm_test_inter)> comm_test_inter{"PMPI_Comm_test_inter"};
  Real<decltype(::PMPI_Allreduce)> allreduce{"PMPI_Allreduce"};
  Real<decltype(::PMPI_Gather)> gather{"PMPI_Gather"};
  Real<decltype(::PMPI_Get_elements_x)> get_elements_x{"PMPI_Get_elements_x"};
  Real<decltype(::PMPI_Get_library_version)> get_library_version{"PMPI_Get_library_version"};
  Real<decltype(::PMPI_Get_processor_name)> get_processor_name{"PMPI_Get_processor_name"};
  Real<decltype(::PMPI_Group_free)> group_free{"PMPI_Group_free"};
  Real<decltype(::PMPI_Group_size)> group_size{"PMPI_Group_size"};
  Real<decltype(::PMPI_Group_translate_ranks)> group_translate_ranks{"PMPI_Group_translate_ranks"};
  Real<decltype(::PMPI_Recv)> recv{"PMPI_Recv"};
  Real<decltype(::PMPI_Send)> send{"PMPI_Send"};
  Real<decltype(::PMPI_Test_cancelled)> test_cancelled{"PMPI_Test_cancelled"};
  DatatypeQueries datatype;
  Real<decltype(::PMPI_Cart_shift)> cart_shift{"PMPI_Cart_shift"};
  Real<decltype(::PMPI_Cartdim_get)> cartdim_get{"PMPI_Cartdim_get"};
  Real<decltype(::PMPI_Dist_graph_neighbors)> dist_graph_neighbors{"PMPI_Dist_graph_neighbors"};
  Real<decltype(::PMPI_Dist_graph_neighbors_count)> dist_graph_neighbors_count{"PMPI_Dist_graph_neighbors_count"};
  Real<decltype(::PMPI_Graph_neighbors)> graph_neighbors{"PMPI_Graph_neighbors"};
  Real<decltype(::PMPI_Graph_neighbors_count)> graph_neighbors_count{"PMPI_Graph_neighbors_count"};
  Real<decltype(::PMPI_Topo_test)> topo_test{"PMPI_Topo_test"};

  MPI_Comm world;
  MPI_Comm self;
  MPI_Comm comm_null;
  MPI_Request request_null;
  MPI_Datatype byte;
  MPI_Datatype uint32;
  MPI_Op max;

  /// Bytes of `count` elements; 0 for an invalid type.
  [[nodiscard]] std::uint64_t bytes(MPI_Count count, MPI_Datatype type) const noexcept;
  /// Whether `count` elements have gaps in memory. False for an invalid type.
  [[nodiscard]] bool has_gaps(MPI_Count count, MPI_Datatype type) const noexcept;
  /// Bytes of a received message.
  [[nodiscard]] std::uint64_t bytes_received(const MPI_Status& status) const noexcept;
};

/// Ends a program whose MPI library is not the one that the recorder was compiled for, with an error message.
void refuse_other_mpi() noexcept;

/// A handle as a number, whether it is an address (Open MPI) or an integer (MPICH).
template <class Handle>
[[nodiscard]] std::uint64_t key_of(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return std::bit_cast<std::uint64_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}

}  // namespace plait::record
