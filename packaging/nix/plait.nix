# SPDX-License-Identifier: Apache-2.0
# nix-build -E '(import <nixpkgs> {}).callPackage ./packaging/nix/plait.nix {}'
{ lib, stdenv, cmake, ninja, pkg-config, python3, boost, cereal, cli11, fftw, fmt, gfortran, hdf5-mpi, libfabric, libhwy
, mpi, nlohmann_json, zlib }:

stdenv.mkDerivation {
  pname = "plait";
  version = "0.2.0";
  src = lib.cleanSource ../..;

  nativeBuildInputs = [ cmake ninja pkg-config python3 gfortran ];
  buildInputs = [ cli11 nlohmann_json ];
  # Programs that use plait's headers and static libraries need these.
  propagatedBuildInputs = [ boost cereal fftw fmt hdf5-mpi libfabric libhwy mpi zlib ];

  cmakeFlags = [
    "-DPLAIT_BUILD_TESTS=OFF"
    "-DPLAIT_BUILD_APPS=OFF"
    "-DPLAIT_BUILD_EXAMPLES=OFF"
    "-DPLAIT_WITH_OFI=ON"
    "-DPLAIT_WITH_FFT=ON"
    "-DPLAIT_WITH_PARTICLES=ON"
    "-DPLAIT_WITH_HDF5=ON"
    "-DPLAIT_WITH_INSTRUMENTS=ON"
    "-DPLAIT_WITH_ZOLTAN=OFF"
    "-DPLAIT_WITH_FORTRAN=ON"
    "-DPLAIT_WITH_PYTHON=OFF"
  ];

  meta = {
    description = "Asynchronous runtime for MPI codes";
    license = lib.licenses.asl20;
    platforms = lib.platforms.linux;
  };
}
