# SPDX-License-Identifier: Apache-2.0
"""The first process of a lab: makes it, measures its links, runs the program, and takes all with it.

Called as `python -m plait.lab.inside LIFELINE WORK` by `outside`, in namespaces of its own. LIFELINE is
the read end of a pipe that the lab's owner holds open: when that process is gone, however it went,
so is the lab.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

from plait._errors import PlaitError
from plait._units import format_bytes
from plait.lab import transfer
from plait.lab.mpi import job_command, job_environment
from plait.lab.network import Host, Network
from plait.lab.settings import Work, format_rate

#: For how long a link is measured, and how often before it is believed to be slow.
_CHECK_S = 0.2
_TRIES = 3
_SHARE_MIN = 0.85
#: After Ctrl-C the launcher gets this long to end its ranks.
_GRACE_S = 5.0


def main() -> int:
    work = Work.from_json(sys.argv[2])
    threading.Thread(target=_end_with_owner, args=(int(sys.argv[1]),), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        network = Network(work.lab)
        _say(work, f"{work.lab.label}; {_cores_in_words(network)}")
        _check_links(work, network)
        return _run(work, network) if work.launcher is not None else 0
    except PlaitError as error:
        print(f"plait: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _end_with_owner(lifeline: int) -> None:
    os.read(lifeline, 1)  # returns when the other end is closed: no process ever writes
    os._exit(1)


def _say(work: Work, text: str) -> None:
    if not work.quiet:
        print(f"lab: {text}", file=sys.stderr, flush=True)


def _cores_in_words(network: Network) -> str:
    sets = [host.cores for host in network.hosts]
    return "all on all cores" if len(set(sets)) == 1 else f"cores {' | '.join(sets)}"


def _check_links(work: Work, network: Network) -> None:
    """Each host sends to the next one, so that every port is tried in both directions."""
    wanted = work.lab.bits_per_s
    results = []
    for index, host in enumerate(network.hosts):
        to = network.hosts[(index + 1) % len(network.hosts)]
        for link in range(work.lab.links):
            results.append(_best(network, host, to, [link], wanted))
    worst = format_rate(min(rate for rate, _ in results))
    round_trip = max(time for _, time in results)
    _say(work, f"measured {worst} of {format_rate(wanted)} by TCP, round trip {round_trip:.0f} us")
    is_good = all(_is_good(result, wanted) for result in results)
    if work.lab.links > 1:
        wanted *= work.lab.links
        both = _best(network, network.hosts[0], network.hosts[1], list(range(work.lab.links)), wanted)
        _say(
            work,
            f"measured {format_rate(both[0])} of {format_rate(wanted)} over all links of a host at once",
        )
        is_good = is_good and _is_good(both, wanted)
    if not is_good:
        _say(work, "this is slower than requested: the machine is busy, or too slow for such a rate")


def _best(
    network: Network, sender: Host, receiver: Host, links: list[int], wanted: float
) -> tuple[float, float]:
    """The best of a few tries over `links` at once, whose rates together should be `wanted`."""
    count = int(wanted / len(links) / 8 * _CHECK_S)
    tries: list[tuple[float, float]] = []
    while len(tries) < _TRIES and not (tries and _is_good(max(tries), wanted)):
        tries.append(_measure(network, sender, receiver, links, count))
    return max(tries)


def _is_good(measured: tuple[float, float], wanted: float) -> bool:
    return measured[0] >= _SHARE_MIN * wanted


def _measure(
    network: Network, sender: Host, receiver: Host, links: list[int], count: int
) -> tuple[float, float]:
    """Bits per second of payload over all links, and the longest round trip in microseconds."""
    program = (sys.executable, "-I", "-S", str(Path(transfer.__file__)))
    with ExitStack() as processes:

        def start(host: Host, way: str, link: int) -> subprocess.Popen[str]:
            arguments = (way, str(count), receiver.addresses[link])
            return processes.enter_context(
                network.start(host, *program, *arguments, stdout=subprocess.PIPE)
            )

        for far in [start(receiver, "receive", link) for link in links]:
            assert far.stdout is not None
            if far.stdout.readline() != "listening\n":
                raise PlaitError(f"{receiver.name} of the lab cannot listen; its message is above")
        told = [
            near.communicate()[0].split() for near in [start(sender, "send", link) for link in links]
        ]
    if any(len(words) != 2 for words in told):
        raise PlaitError(f"{sender.name} of the lab cannot send to {receiver.name}; see above")
    return sum(float(rate) for rate, _ in told), max(float(time) for _, time in told)


def _run(work: Work, network: Network) -> int:
    assert work.launcher is not None
    before = [network.sent_bytes(host) for host in network.hosts]
    command = job_command(work.launcher, work.lab, work.program)
    environment = job_environment(work.launcher, work.lab, network)
    job = network.start(network.hosts[0], *command, environment=environment)
    try:
        status = job.wait()
    except KeyboardInterrupt:
        # The terminal has signalled the launcher as well, if there is a terminal.
        job.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            job.wait(_GRACE_S)
        raise
    sent = [
        " + ".join(format_bytes(a - b) for a, b in zip(network.sent_bytes(host), counts, strict=True))
        for host, counts in zip(network.hosts, before, strict=True)
    ]
    _say(work, f"sent over the links: {', '.join(sent)}")
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main())
