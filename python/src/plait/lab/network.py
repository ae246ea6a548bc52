# SPDX-License-Identifier: Apache-2.0
"""The hosts of a lab and the links between them. Runs in the lab, where all names are free."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from plait._errors import PlaitError
from plait.lab.settings import Lab

AGENT = Path(__file__).with_name("agent")
#: TCP hands over pieces of about this time's worth of data, which a port lets through whole: smaller
#: ones cost processor time and wait longer on a busy machine, larger ones let messages up to their size
#: travel at the speed of memory.
_PIECE_S = 131e-6
_PIECE_BYTES = (4096, 65536)
#: What a port may make up for after a late timer, and how much faster than its rate it may then be.
_BURST_S = 512e-6
_PEAK = 1.05
#: How long data may wait in a port before it is dropped: a switch with about 1 MB a port at 1 Gbit/s.
_QUEUE = "10ms"
#: The kernel reports a link as up some time after both ends are; UCX does not use it before.
_WAIT_FOR_LINK = (
    "for i in $(seq 100); do grep -q up /sys/class/net/{interface}/operstate && exit 0; "
    "sleep 0.05; done; "
    "echo {interface} does not come up >&2; exit 1"
)
#: Equal on all machines, as a link must not depend on theirs: the kernel's own buffers, and the
#: congestion control that every kernel allows in a namespace.
_TCP = {
    "tcp_rmem": "4096 131072 6291456",
    "tcp_wmem": "4096 16384 4194304",
    "tcp_congestion_control": "reno",
}


@dataclass(frozen=True)
class Host:
    name: str
    addresses: tuple[str, ...]  # of each link
    process: subprocess.Popen[str]
    cores: str  # as taskset wants them

    @property
    def location(self) -> str:
        """What the agent needs to get there."""
        return f"{self.process.pid} {self.cores} {','.join(self.addresses)}"


class Network:
    """Hosts host0, host1, ... at 10.77.0.1, .2, ...: two share a cable, more have a switch.

    Further links are networks of their own: 10.77.1.1, .2, ...
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        cores = sorted(os.sched_getaffinity(0))
        _run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
        _write_hosts_file(lab)
        self.hosts = [_start_host(i, lab.links, lab.cores_of(i, cores)) for i in range(lab.hosts)]
        for interface in lab.interfaces:
            if lab.hosts == 2:
                self._join(self.hosts[0], self.hosts[1], interface)
            else:
                self._join_all(interface)
        for host in self.hosts:
            self._set_up(host)
        for host in self.hosts:
            for interface in lab.interfaces:
                _in_network(host, _WAIT_FOR_LINK.format(interface=interface))

    @property
    def environment(self) -> dict[str, str]:
        """What the agent reads, and what programs may know: the lab, and the rate of its links."""
        at = {f"PLAIT_LAB_AT_{host.name}": host.location for host in self.hosts}
        lab = {"PLAIT_LAB": self._lab.label, "PLAIT_LAB_BITS_PER_S": f"{self._lab.bits_per_s:.0f}"}
        return {**os.environ, **at, **lab}

    def start(
        self,
        host: Host,
        *command: str,
        stdout: int | None = None,
        environment: dict[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """Starts a command on a host, with this network's environment or one made from that."""
        return subprocess.Popen(
            [str(AGENT), host.name, f"exec {shlex.join(command)}"],
            env=environment or self.environment,
            stdout=stdout,
            text=True,
        )

    def sent_bytes(self, host: Host) -> list[int]:
        """Bytes that the host has put on each of its links so far, with all headers."""
        text = Path(f"/proc/{host.process.pid}/net/dev").read_text(encoding="ascii")
        counts = dict(line.strip().split(":") for line in text.splitlines() if ":" in line)
        return [int(counts[interface].split()[8]) for interface in self._lab.interfaces]

    def _join(self, one: Host, other: Host, interface: str) -> None:
        ends = ("netns", str(one.process.pid), "type", "veth", "peer", "name", interface)
        _run("ip", "link", "add", interface, *ends, "netns", str(other.process.pid))

    def _join_all(self, interface: str) -> None:
        switch = f"switch-{interface}"
        _run("ip", "link", "add", switch, "type", "bridge")
        _run("ip", "link", "set", switch, "up")
        for index, host in enumerate(self.hosts):
            port = f"port{index}-{interface}"
            end = ("name", interface, "netns", str(host.process.pid))
            _run("ip", "link", "add", port, "type", "veth", "peer", *end)
            _run("ip", "link", "set", port, "master", switch, *self._segments(), "up")
            _run(*self._limit(port))

    def _set_up(self, host: Host) -> None:
        """Addresses and rates, set from within: interfaces are known in their own namespace only."""
        commands: list[tuple[str, ...]] = [("ip", "link", "set", "lo", "up")]
        for interface, address in zip(self._lab.interfaces, host.addresses, strict=True):
            commands += [
                ("ip", "address", "add", f"{address}/24", "dev", interface),
                ("ip", "link", "set", interface, *self._segments(), "up"),
                self._limit(interface),
            ]
        files = {f"/proc/sys/net/ipv4/{name}": value for name, value in _TCP.items()}
        settings = [f"echo {shlex.quote(value)} > {file}" for file, value in files.items()]
        script = " && ".join([*(shlex.join(command) for command in commands), *settings])
        _in_network(host, script)
        if self._lab.has_own_cores(len(os.sched_getaffinity(0))):
            for interface in self._lab.interfaces:
                _handle_packets_on(host, interface)

    def _piece_bytes(self) -> int:
        low, high = _PIECE_BYTES
        return min(high, max(low, int(self._lab.bits_per_s / 8 * _PIECE_S)))

    def _segments(self) -> tuple[str, str]:
        return "gso_max_size", str(self._piece_bytes())

    def _limit(self, interface: str) -> tuple[str, ...]:
        rate = int(self._lab.bits_per_s)
        piece = self._piece_bytes() + 1000  # and its headers
        burst = max(4 * piece, int(rate / 8 * _BURST_S))
        limit = ("rate", f"{rate}bit", "burst", str(burst), "latency", _QUEUE)
        peak = ("peakrate", f"{int(_PEAK * rate)}bit", "mtu", str(piece))
        return ("tc", "qdisc", "add", "dev", interface, "root", "tbf", *limit, *peak)


def _in_network(host: Host, script: str) -> None:
    _run("nsenter", "--target", str(host.process.pid), "--net", "--mount", "sh", "-c", script)


def _handle_packets_on(host: Host, interface: str) -> None:
    """Has the host's own cores handle what it receives: else those of another host do, by chance."""
    steering = Path(f"/proc/{host.process.pid}/root/sys/class/net/{interface}/queues/rx-0/rps_cpus")
    try:
        steering.write_text(core_mask(host.cores), encoding="ascii")
    except OSError as error:
        print(f"lab: {host.name} may receive on another host's cores: {error.strerror}", file=sys.stderr)


def core_mask(cores: str) -> str:
    """The kernel's notation of a set of cores: words of 32 bits in base 16, the highest first."""
    bits = sum(1 << int(core) for core in cores.split(","))
    words: list[str] = []
    while bits or not words:
        words.insert(0, f"{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join(words)


def _start_host(index: int, links: int, cores: list[int]) -> Host:
    """A process that does nothing and whose namespaces are the host."""
    name = f"host{index}"
    script = (
        f"hostname {name} && mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /dev/shm && echo up && "
        "exec sleep infinity"
    )
    process = subprocess.Popen(
        ["unshare", "--net", "--uts", "--mount", "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the program: the network stays until that has ended
    )
    assert process.stdout is not None
    if process.stdout.readline() != "up\n":
        raise PlaitError(f"{name} of the lab could not be made; the message of unshare is above")
    addresses = tuple(f"10.77.{link}.{index + 1}" for link in range(links))
    return Host(name, addresses, process, ",".join(map(str, cores)))


def _write_hosts_file(lab: Lab) -> None:
    """Names for the hosts, in a file that replaces /etc/hosts here and nowhere else."""
    lines = ["127.0.0.1 localhost", *(f"10.77.0.{i + 1} host{i}" for i in range(lab.hosts))]
    file = Path("/dev/shm/hosts")
    file.write_text("\n".join(lines) + "\n", encoding="ascii")
    _run("mount", "--bind", str(file), "/etc/hosts")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PlaitError(f"making the lab failed at `{shlex.join(command)}`: {done.stderr.strip()}")
