# SPDX-License-Identifier: Apache-2.0
"""Which of plait's network drivers this machine can run, and what limits them."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_SHARED = Path("/dev/shm")
# What a rank may take of it: rings of 2 MiB, and 2 MiB for bulk data where single copy is not possible.
SHARED_BYTES_PER_RANK = 5 << 20
_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
_SCOPES = {
    "2": "only administrators may (ptrace_scope is 2)",
    "3": "no process may until the machine restarts (ptrace_scope is 3)",
}


@dataclass(frozen=True)
class SharedMemory:
    """What there is for ranks of this host."""

    total_bytes: int
    free_bytes: int
    single_copy: bool
    why_not: str  # of single copy; empty where it is possible

    @property
    def ranks_max(self) -> int:
        return self.free_bytes // SHARED_BYTES_PER_RANK


def shared_memory() -> SharedMemory | None:
    """None where there is no /dev/shm."""
    try:
        room = os.statvfs(_SHARED)
    except OSError:
        return None
    why_not = single_copy_trouble()
    return SharedMemory(
        room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize, not why_not, why_not
    )


class _Piece(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


def single_copy_trouble() -> str:
    """Why a process may not read another's memory; empty when it may. Tried on a child."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "process_vm_readv"):
        return "this system has no cross-memory attach"
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        start = _readable_address(child.pid)
        if start is None:
            return "the memory of another process cannot be seen"
        word = ctypes.create_string_buffer(8)
        here = _Piece(ctypes.cast(word, ctypes.c_void_p), 8)
        there = _Piece(start, 8)
        moved = library.process_vm_readv(child.pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        return "" if moved == 8 else _why(ctypes.get_errno())
    finally:
        child.communicate()


def _readable_address(process: int) -> int | None:
    try:
        maps = Path(f"/proc/{process}/maps").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in maps.splitlines():
        area, rights = line.split()[:2]
        if rights.startswith("r"):
            return int(area.split("-")[0], 16)
    return None


def _why(code: int) -> str:
    if code == errno.ENOSYS:
        return "this system has no cross-memory attach"
    scope = _SCOPE.read_text(encoding="ascii").strip() if _SCOPE.is_file() else ""
    return _SCOPES.get(scope, f"{os.strerror(code)}; a container needs the capability SYS_PTRACE for it")


def fabric_providers() -> list[str] | None:
    """libfabric's providers by name, as fi_info reports them; None without fi_info."""
    program = shutil.which("fi_info")
    if program is None:
        return None
    try:
        done = subprocess.run([program], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = (
        line.split(":", 1)[1].strip()
        for line in done.stdout.splitlines()
        if line.startswith("provider:")
    )
    return list(dict.fromkeys(found))


def chosen(environment: dict[str, str]) -> dict[str, str]:
    """The driver that PLAIT_NETWORK gives a peer `here`, on this host, and `elsewhere`; and `why`."""
    setting = environment.get("PLAIT_NETWORK") or "automatic"
    if setting == "automatic":
        return {"here": "shm", "elsewhere": "mpi", "why": "PLAIT_NETWORK is automatic"}
    elsewhere = "none" if setting == "shm" else setting
    rails = environment.get("PLAIT_OFI_ADDRESS", "").split(",")
    on = f" on {len(rails)} rails: {', '.join(rails)}" if setting == "ofi" and len(rails) > 1 else ""
    return {"here": setting, "elsewhere": elsewhere, "why": f"PLAIT_NETWORK is {setting}{on}"}
