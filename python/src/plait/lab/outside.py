# SPDX-License-Identifier: Apache-2.0
"""Starts a lab from outside of it, and reports why where that is not allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress

from plait._errors import PlaitError, Status
from plait.lab.settings import Work

_GRACE_S = 8.0
_TOOLS = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "taskset": "util-linux",
    "mount": "mount",
    "ip": "iproute2",
    "tc": "iproute2",
    "hostname": "hostname",
}
#: Tries each thing that a lab is made of, in namespaces that end with it, and names what failed.
_PROBE = """
step() { "$@" >/dev/null 2>&1; }
step mount -t tmpfs tmpfs /dev/shm || { echo "mounting is not allowed"; exit 1; }
step mount -t sysfs sysfs /sys || { echo "mounting sysfs is not allowed"; exit 1; }
step hostname lab || { echo "naming a host is not allowed"; exit 1; }
step ip link add eth0 type veth peer name eth1 || { echo "the kernel makes no veth links"; exit 1; }
step tc qdisc add dev eth0 root tbf rate 1gbit burst 32kb latency 10ms ||
  { echo "the kernel has no rate limit (tbf)"; exit 1; }
"""


def why_not() -> str | None:
    """Why this machine or user may have no lab, in a sentence; None when they may. Takes 50 ms."""
    if not sys.platform.startswith("linux"):
        return "a lab needs Linux"
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            return f"there is no {tool}: apt-get install {package}"
    try:
        done = subprocess.run(
            [*_namespaces(), "sh", "-c", _PROBE], capture_output=True, text=True, timeout=20, check=False
        )
    except subprocess.TimeoutExpired:
        return "making namespaces does not end"
    if done.returncode == 0:
        return None
    return done.stdout.strip() or f"this user may make no namespaces ({done.stderr.strip()})"


def run(work: Work) -> int:
    """The work's exit status. Raises with `Status.unavailable` where there can be no lab."""
    reason = why_not()
    if reason is not None:
        raise PlaitError(f"no lab here: {reason}", status=Status.unavailable)
    read_end, write_end = os.pipe()
    command = [*_namespaces(), sys.executable, "-m", "plait.lab.inside", str(read_end), work.to_json()]
    try:
        with subprocess.Popen(command, pass_fds=[read_end]) as process:
            os.close(read_end)
            try:
                return process.wait()
            except KeyboardInterrupt:
                # The terminal signals the lab as well, which ends its program; if not, it ends below.
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE_S)
                raise
            finally:
                os.close(write_end)
    except OSError as error:
        raise PlaitError(f"the lab could not be started: {error}") from error


def _namespaces() -> list[str]:
    """Gives the command behind it namespaces whose first process it is, and that end with it."""
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    own = ["--net", "--uts", "--ipc", "--mount", "--pid", "--mount-proc"]
    return ["unshare", *as_root, *own, "--fork", "--kill-child"]
