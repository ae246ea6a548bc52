# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms of arrays that are distributed over the ranks of a `plait.Runtime`.

    plan = plait.fft.Plan(rt, (64, 48, 50))
    u = plan.empty()                    # this rank's part, float64
    u[...] = ...
    modes = plan.forward(u)             # complex128
    u = plan.backward(modes)            # the same as before

docs/how-to/python.md has examples, docs/how-to/fft.md explains distribution and variants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt

from plait import _extension
from plait._runtime import Runtime

if TYPE_CHECKING:
    from plait import _plait_runtime

Space = Literal["physical", "spectral"]
Norm = Literal["backward", "ortho", "forward"]
Array = npt.NDArray[Any]
#: An array, or a list of arrays.
Arrays = TypeVar("Arrays")
_SPACES: tuple[Space, Space] = ("physical", "spectral")


class Plan:
    """How transforms of arrays of N0 x N1 x N2 numbers are carried out, and which part of them a rank
    has.

    Collective: all ranks create the same plans in the same order.

    shape: (N0, N1, N2), of the whole array. Any lengths and numbers of ranks work.
    dtype: float64 for real arrays, whose spectra have N2 // 2 + 1 modes along axis 2; or complex128.
    grid: (row, column), whose product is the number of ranks. A row of 1 means slabs, with one exchange
        instead of two. Without it, the plan chooses.
    effort: of FFTW's search for a fast algorithm: "estimate", "measure" (seconds) or "patient"
        (minutes).
    variant: of the exchange: "PLT" (tasks), "PLB" and "PLN" (plait's all-to-all), those of MPI, or
        "automatic", which measures all.
    pieces: the number of messages of a block, if tasks exchange. 0: the plan chooses.

    In physical space axis 2 is whole on each rank, in spectral space axis 0. Threads: one at a time.
    """

    def __init__(
        self,
        runtime: Runtime,
        shape: Sequence[int],
        *,
        dtype: npt.DTypeLike = np.float64,
        grid: tuple[int, int] | None = None,
        effort: Literal["estimate", "measure", "patient"] = "measure",
        variant: str = "PLT",
        pieces: int = 0,
    ) -> None:
        kind = np.dtype(dtype)
        if kind not in (np.dtype(np.float64), np.dtype(np.complex128)):
            raise TypeError(f"dtype is {kind}: transforms are of float64 or complex128")
        if len(shape) != 3:
            raise ValueError(f"shape has {len(shape)} axes, and must have three: (N0, N1, N2)")
        self._shape = (int(shape[0]), int(shape[1]), int(shape[2]))
        is_real = kind == np.dtype(np.float64)
        self._dtypes = {"physical": kind, "spectral": np.dtype(np.complex128)}
        modes = self._shape[2] // 2 + 1 if is_real else self._shape[2]
        self._shapes = {"physical": self._shape, "spectral": (*self._shape[:2], modes)}
        self._native: _plait_runtime.Transforms = _extension.part("Transforms")(
            runtime._engine, self._shape, is_real, grid or (0, 0), effort, variant, pieces
        )
        self._slices = {space: self._box(space) for space in _SPACES}

    def _box(self, space: str) -> tuple[slice, slice, slice]:
        low, high = self._native.box(space == "spectral")
        return slice(low[0], high[0]), slice(low[1], high[1]), slice(low[2], high[2])

    def global_shape(self, space: Space = "physical") -> tuple[int, ...]:
        """Of the whole array in this space."""
        return self._shapes[self._checked(space)]

    def local_slice(self, space: Space = "physical") -> tuple[slice, slice, slice]:
        """This rank's part of the whole array: `whole[plan.local_slice()]` is it. May be empty."""
        return self._slices[self._checked(space)]

    def local_shape(self, space: Space = "physical") -> tuple[int, int, int]:
        a, b, c = self.local_slice(space)
        return a.stop - a.start, b.stop - b.start, c.stop - c.start

    def empty(self, space: Space = "physical", fields: int | None = None) -> Array:
        """A new array of this rank's part; of `fields` arrays, along a first axis."""
        shape = self.local_shape(space)
        return np.empty(shape if fields is None else (fields, *shape), self._dtypes[space])

    def wave_numbers(self) -> tuple[Array, Array, Array]:
        """Of this rank's modes along each axis, as integers, in shapes that broadcast to
        `local_shape("spectral")`.
        """
        found = []
        for axis, (length, part) in enumerate(
            zip(self._shape, self.local_slice("spectral"), strict=True)
        ):
            index = np.arange(part.start, part.stop)
            numbers = np.where(index <= length // 2, index, index - length)
            found.append(numbers.reshape([-1 if i == axis else 1 for i in range(3)]))
        return found[0], found[1], found[2]

    @overload
    def forward(self, source: Array, out: None = None, *, norm: Norm = "backward") -> Array: ...
    @overload
    def forward(
        self, source: Sequence[Array], out: None = None, *, norm: Norm = "backward"
    ) -> list[Array]: ...
    @overload
    def forward(self, source: Any, out: Arrays, *, norm: Norm = "backward") -> Arrays: ...
    def forward(self, source: Any, out: Any = None, *, norm: Norm = "backward") -> Any:
        """Transforms from physical to spectral space: sums of f(x) exp(-i k x), as numpy.fft.fftn.

        source: an array of `local_shape()`; or several, as a list or along a first axis, which are
            transformed at once: while the blocks of one travel, another is computed.
        out: arrays of `local_shape("spectral")` for the results, likewise. Without it, they are
            created. Arrays that are used again and again save the creation of message buffers.
        norm: as of numpy.fft: "backward" multiplies by 1, "ortho" and "forward" by 1 / sqrt(N) and 1 /
            N.

        Arrays are contiguous in C order, and may not overlap; `source` is unchanged. Collective: all
        ranks pass as many arrays. Returns `out`. Raises ValueError and TypeError for arrays that do not
        fit.
        """
        return self._run(True, source, out, {"backward": 0.0, "ortho": 0.5, "forward": 1.0}, norm)

    @overload
    def backward(self, source: Array, out: None = None, *, norm: Norm = "backward") -> Array: ...
    @overload
    def backward(
        self, source: Sequence[Array], out: None = None, *, norm: Norm = "backward"
    ) -> list[Array]: ...
    @overload
    def backward(self, source: Any, out: Arrays, *, norm: Norm = "backward") -> Arrays: ...
    def backward(self, source: Any, out: Any = None, *, norm: Norm = "backward") -> Any:
        """As `forward`, from spectral to physical space, as numpy.fft.ifftn: by default divided by N0 *
        N1 * N2.
        """
        return self._run(False, source, out, {"backward": 1.0, "ortho": 0.5, "forward": 0.0}, norm)

    def describe(self) -> str:
        """The grid of ranks, the exchange, and the bytes that a transform sends, in several lines."""
        return self._native.describe()

    @property
    def grid(self) -> tuple[int, int]:
        return self._native.grid

    @property
    def variant(self) -> str:
        return self._native.variant

    def close(self) -> None:
        """Frees the plan and its buffers; collective. The end of the runtime does, too."""
        self._native.close()

    def _run(self, is_forward: bool, source: Any, out: Any, powers: dict[str, float], norm: str) -> Any:
        if norm not in powers:
            raise ValueError(f'norm="{norm}" is unknown: use {", ".join(powers)}')
        spaces: tuple[Space, Space] = _SPACES if is_forward else (_SPACES[1], _SPACES[0])
        sources = self._fields(source, spaces[0], "source")
        if out is None:
            count = len(sources)
            if isinstance(source, np.ndarray):
                out = self.empty(spaces[1], None if source.ndim == 3 else count)
            else:
                out = [self.empty(spaces[1]) for _ in sources]
        targets = self._fields(out, spaces[1], "out")
        if len(sources) != len(targets):
            raise ValueError(f"there are {len(sources)} arrays to transform, and {len(targets)} in out")
        scale = math.prod(self._shape) ** -powers[norm]
        self._native.run(is_forward, sources, targets, scale)
        return out

    def _fields(self, arrays: Any, space: Space, name: str) -> list[Array]:
        """One or several arrays of this rank's part, checked."""
        if isinstance(arrays, np.ndarray):
            arrays = [arrays] if arrays.ndim == 3 else list(arrays)
        shape, dtype = self.local_shape(space), self._dtypes[space]
        if not arrays:
            raise ValueError(f"{name} has no arrays")
        for array in arrays:
            if not isinstance(array, np.ndarray):
                raise TypeError(f"{name} is a {type(array).__name__}: pass NumPy arrays of {dtype}")
            if array.dtype != dtype:
                raise TypeError(f"{name} has the type {array.dtype}: pass {name}.astype({dtype})")
            if array.shape != shape:
                raise ValueError(
                    f"{name} has the shape {array.shape}, and this rank's part in {space} space has "
                    f"{shape}"
                )
        return list(arrays)

    @staticmethod
    def _checked(space: Space) -> Space:
        if space not in _SPACES:
            raise ValueError(f'"{space}" is no space: use "physical" or "spectral"')
        return space
