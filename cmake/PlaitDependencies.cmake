# SPDX-License-Identifier: Apache-2.0
# Finds what plait needs and reports what an absent optional part would have enabled.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost 1.81 REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
find_package(CLI11 REQUIRED)
find_package(cereal REQUIRED)
# Loops over particles, written once and run at the vector width of the processor that they meet, and its sort.
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy libhwy-contrib)

if(PLAIT_WITH_MPI)
  find_package(MPI REQUIRED COMPONENTS C)
  # mpi.h without the C++ bindings, which MPI itself has dropped: half the text to compile, and no library of theirs.
  set_property(TARGET MPI::MPI_C APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endif()

# HDF5: parallel where MPI is there, else serial; the ring's snapshots need either.
if(PLAIT_WITH_MPI)
  # The parallel HDF5 must be the one that was made with the MPI found above; where both MPIs are installed, the names
  # without an MPI in them mean one of the two.
  if("${MPI_C_INCLUDE_DIRS};${MPI_C_LIBRARIES}" MATCHES "mpich")
    pkg_search_module(hdf5 QUIET IMPORTED_TARGET hdf5-mpich)
    pkg_search_module(plait_other_hdf5 QUIET hdf5-openmpi)
  else()
    pkg_search_module(hdf5 QUIET IMPORTED_TARGET hdf5-openmpi)
    pkg_search_module(plait_other_hdf5 QUIET hdf5-mpich)
  endif()
  if(NOT hdf5_FOUND AND NOT plait_other_hdf5_FOUND)
    pkg_search_module(hdf5 QUIET IMPORTED_TARGET hdf5-mpi hdf5)
  endif()
else()
  pkg_search_module(hdf5 QUIET IMPORTED_TARGET hdf5-serial hdf5)
endif()
if(NOT hdf5_FOUND)
  message(STATUS "plait: HDF5 not found; checkpoints, apps/ring and apps/cholesky are not built (Debian: libhdf5-openmpi-dev)")
endif()
find_package(ZLIB QUIET)  # checksums of checkpoints
if(NOT ZLIB_FOUND)
  message(STATUS "plait: zlib not found; checkpoints are not built (Debian: zlib1g-dev)")
endif()

pkg_check_modules(libfabric QUIET IMPORTED_TARGET libfabric>=1.14)
if(NOT libfabric_FOUND)
  message(STATUS "plait: libfabric not found; the ofi driver and its tests are not built (Debian: libfabric-dev)")
endif()

# Balancers to compare with. Zoltan calls MPI, and must be made with the one found above.
if(PLAIT_WITH_MPI)
  find_path(PLAIT_ZOLTAN_INCLUDE zoltan.h PATH_SUFFIXES trilinos DOC "Folder of zoltan.h")
  find_library(PLAIT_ZOLTAN_LIBRARY NAMES trilinos_zoltan zoltan DOC "Zoltan")
  mark_as_advanced(PLAIT_ZOLTAN_INCLUDE PLAIT_ZOLTAN_LIBRARY)
  if(NOT PLAIT_ZOLTAN_INCLUDE OR NOT PLAIT_ZOLTAN_LIBRARY)
    message(STATUS "plait: Zoltan not found; the balancers zoltan_* are not built (Debian: libtrilinos-zoltan-dev)")
  elseif("${MPI_C_INCLUDE_DIRS};${MPI_C_LIBRARIES}" MATCHES "mpich" AND PLAIT_ZOLTAN_LIBRARY MATCHES "trilinos")
    message(STATUS "plait: the archive's Zoltan is made with Open MPI; the balancers zoltan_* are not built with MPICH")
  else()
    add_library(Zoltan::zoltan INTERFACE IMPORTED)
    target_include_directories(Zoltan::zoltan SYSTEM INTERFACE ${PLAIT_ZOLTAN_INCLUDE})
    target_link_libraries(Zoltan::zoltan INTERFACE ${PLAIT_ZOLTAN_LIBRARY})
  endif()
endif()

# Tiles are computed by these. Any BLAS with a C interface does; OpenBLAS is told to use one thread a call.
pkg_search_module(cblas QUIET IMPORTED_TARGET openblas cblas)
pkg_check_modules(lapacke QUIET IMPORTED_TARGET lapacke)
if(NOT cblas_FOUND OR NOT lapacke_FOUND)
  message(STATUS "plait: BLAS or LAPACKE not found; apps/cholesky is not built (Debian: libopenblas-dev liblapacke-dev)")
endif()

# One-dimensional transforms. Ranks that are threads of one process plan at once, for which FFTW has a lock in the library
# of its threads.
pkg_check_modules(fftw QUIET IMPORTED_TARGET fftw3)
find_library(PLAIT_FFTW_THREADS fftw3_threads HINTS ${fftw_LIBRARY_DIRS} DOC "FFTW's library of threads")
mark_as_advanced(PLAIT_FFTW_THREADS)
if(NOT fftw_FOUND)
  message(STATUS "plait: FFTW not found; apps/pic solves Poisson's equation by conjugate gradients only (Debian: libfftw3-dev)")
endif()
if(NOT fftw_FOUND OR NOT PLAIT_FFTW_THREADS)
  message(STATUS "plait: FFTW with threads not found; distributed transforms are not built (Debian: libfftw3-dev)")
endif()

if(PLAIT_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(PLAIT_BUILD_BENCH)
  find_package(benchmark QUIET)  # bench/ programs that do without it are built all the same
endif()
