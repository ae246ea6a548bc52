# SPDX-License-Identifier: Apache-2.0
from spack.package import *


class Plait(CMakePackage):
    """Asynchronous runtime for MPI codes: tasks, messages, balancing, recording and replay."""

    homepage = "https://example.org/plait"
    url = "https://example.org/plait/plait-0.2.0.tar.gz"

    license("Apache-2.0", checked_by="plait")

    # The checksum of a release is in its SHA256SUMS: tools/release.
    version("0.2.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant("shared", default=False, description="Shared libraries")
    variant("mpi", default=True, description="Driver over MPI")
    variant("ofi", default=True, description="Driver over libfabric")
    variant("fft", default=True, description="plait::fft")
    variant("particles", default=True, description="plait::particles")
    variant("hdf5", default=True, description="Checkpoints and snapshots")
    variant("fortran", default=True, when="+mpi", description="Modules for Fortran")
    variant("instruments", default=True, description="Recorder, accelerator, replay")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.11:", type="build", when="+instruments")
    depends_on("nlohmann-json", type="build")
    depends_on("cli11", type="build", when="+instruments")
    depends_on("fmt@9:")
    depends_on("boost@1.81:")
    depends_on("cereal")
    depends_on("mpi@3.1:", when="+mpi")
    depends_on("libfabric@1.14:", when="+ofi")
    depends_on("fftw@3 precision=double", when="+fft")
    depends_on("highway@1.0.3:", when="+particles")
    depends_on("hdf5@1.10:+mpi", when="+hdf5+mpi")
    depends_on("hdf5@1.10:~mpi", when="+hdf5~mpi")
    depends_on("zlib-api", when="+hdf5")

    conflicts("%gcc@:11", msg="plait needs C++20 as of GCC 12")
    conflicts("%clang@:15", msg="plait needs C++20 as of Clang 16")

    generator("ninja")

    def cmake_args(self):
        parts = ("mpi", "ofi", "fft", "particles", "hdf5", "fortran", "instruments")
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            *(self.define_from_variant(f"PLAIT_WITH_{part.upper()}", part) for part in parts),
            *(
                self.define(f"PLAIT_{part}", False)
                for part in ("BUILD_TESTS", "BUILD_APPS", "BUILD_EXAMPLES", "WITH_PYTHON")
            ),
        ]
