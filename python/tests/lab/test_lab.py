# SPDX-License-Identifier: Apache-2.0
"""The lab: its arithmetic everywhere; its hosts, links and end where the machine allows one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from plait import _launcher as launcher
from plait._errors import PlaitError, Status
from plait.lab.network import core_mask
from plait.lab.outside import why_not
from plait.lab.settings import Lab, Work, format_rate, parse_rate

_DEADLINE_S = 60.0
#: Each rank is started on a host of its own; the first sends a megabyte to the second, by name.
_TRANSFER = """
import os, socket
name = socket.gethostname()
# One piece each, since both hosts write to the same pipe and Python may not buffer.
print(f"{name} {os.environ['PLAIT_HOST']} {os.environ['PLAIT_LAB']}", flush=True)
if name == "host1":
    with socket.create_server(("", 5000)) as server:
        connection = server.accept()[0]
        count = 0
        while size := len(connection.recv(65536)):
            count += size
        print(f"received {count}")
else:
    while True:
        try:
            connection = socket.create_connection(("host1", 5000))
            break
        except ConnectionRefusedError:
            pass
    connection.sendall(bytes(1 << 20))
    connection.close()
"""


def needs_lab() -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(f"no lab here: {reason}")


def lab_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "plait", "lab", *arguments]


def processes_with(word: str) -> list[str]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found


def wait_until(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + _DEADLINE_S
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)
    return is_so()


def test_rates_are_written_as_tc_writes_them() -> None:
    assert parse_rate("1gbit") == 1e9
    assert parse_rate("2.5Gbit/s") == 2.5e9
    assert parse_rate("100mbit") == 1e8
    assert format_rate(2.5e9) == "2.5 Gbit/s"
    assert format_rate(1e8) == "100 Mbit/s"
    with pytest.raises(PlaitError, match="no rate"):
        parse_rate("fast")


@pytest.mark.parametrize(
    "wrong", [{"hosts": 1}, {"hosts": 4, "ranks": 3}, {"bits_per_s": 1.0}, {"links": 0}, {"links": 9}]
)
def test_impossible_labs_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(PlaitError) as caught:
        Lab(**wrong)
    assert caught.value.status == 2


def test_ranks_fill_host_after_host() -> None:
    lab = Lab(hosts=3, ranks=8)
    assert [lab.ranks_of(host) for host in range(3)] == [3, 3, 2]
    assert Lab(hosts=4).rank_count == 4


def test_links_have_names_and_a_label() -> None:
    assert Lab(links=2).interfaces == ["eth0", "eth1"]
    assert Lab(links=2).label == "2 hosts, 2 links of 1 Gbit/s"
    assert Lab().label == "2 hosts, 1 Gbit/s"


def test_hosts_share_cores_only_where_there_are_too_few() -> None:
    lab = Lab(hosts=2)
    assert [lab.cores_of(host, [0, 1, 4, 5, 6]) for host in range(2)] == [[0, 1], [4, 5]]
    assert lab.cores_of(1, [3]) == [3]
    assert Lab(hosts=2, binds=False).cores_of(1, [0, 1]) == [0, 1]


def test_work_survives_the_way_into_the_lab() -> None:
    work = Work(Lab(3, 1e8, 7, False, 2), launcher.Launcher("/bin/x", "MPICH", "4.0"), ("a", "b c"))
    assert Work.from_json(work.to_json()) == work
    assert Work.from_json(Work(Lab(), None, ()).to_json()) == Work(Lab(), None, ())


def test_a_machine_without_the_tools_is_told_which(tmp_path: Path) -> None:
    done = subprocess.run(
        lab_command(),
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": str(tmp_path)},
        check=False,
    )
    assert done.returncode == Status.unavailable
    assert "no lab here: there is no unshare: apt-get install util-linux" in done.stderr


def test_programs_run_on_two_hosts_and_talk_over_the_link() -> None:
    needs_lab()
    before = Path("/proc/net/dev").read_text(encoding="ascii").count(":")
    marker = f"marker-{uuid.uuid4()}"
    program = ["--", sys.executable, "-c", _TRANSFER, marker]
    done = subprocess.run(
        lab_command("--rate", "200mbit", *program),
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "host0 host0 2 hosts, 200 Mbit/s" in done.stdout
    assert "host1 host1 2 hosts, 200 Mbit/s" in done.stdout
    assert f"received {1 << 20}" in done.stdout
    sent = re.search(r"sent over the links: ([\d.]+) MiB", done.stderr)
    assert sent, done.stderr
    assert 1.0 <= float(sent.group(1)) < 1.5
    assert "of 200 Mbit/s by TCP" in done.stderr
    assert processes_with(marker) == []
    assert Path("/proc/net/dev").read_text(encoding="ascii").count(":") == before


def test_cores_are_written_as_the_kernel_reads_them() -> None:
    assert core_mask("1") == "00000002"
    assert core_mask("0,1,33") == "00000002,00000003"


def test_a_host_receives_on_its_own_cores_and_has_the_labs_congestion_control() -> None:
    needs_lab()
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs a core for each host")
    script = (
        "echo $(cat /proc/sys/net/ipv4/tcp_congestion_control /sys/class/net/eth0/queues/rx-0/rps_cpus) "
        "$(grep Cpus_allowed: /proc/self/status)"
    )
    done = subprocess.run(
        lab_command("--", "sh", "-c", script),
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    found = re.findall(r"^reno (\w+) Cpus_allowed: (\w+)$", done.stdout, re.MULTILINE)
    assert len(found) == 2, done.stdout + done.stderr
    assert all(int(steered, 16) == int(allowed, 16) for steered, allowed in found)
    assert found[0] != found[1]


@pytest.mark.parametrize("hosts", [2, 3])
def test_each_link_is_a_network_with_a_rate_of_its_own(hosts: int) -> None:
    needs_lab()
    script = (
        'echo "addresses=$PLAIT_OFI_ADDRESS" '
        "rates=$(tc qdisc show | grep -c 'dev eth[01] root.* rate 200Mbit')"
    )
    done = subprocess.run(
        lab_command(
            "--hosts", str(hosts), "--links", "2", "--rate", "200mbit", "--", "sh", "-c", script
        ),
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for host in range(1, hosts + 1):
        assert f"addresses=10.77.0.{host},10.77.1.{host} rates=2" in done.stdout
    assert f"{hosts} hosts, 2 links of 200 Mbit/s" in done.stderr
    assert "of 400 Mbit/s over all links of a host at once" in done.stderr
    sent = done.stderr.partition("sent over the links: ")[2]
    assert sent.count(" + ") == hosts, done.stderr


def test_status_of_the_program_is_that_of_the_command() -> None:
    needs_lab()
    done = subprocess.run(
        lab_command("--", "sh", "-c", "exit 5"),
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 5, done.stderr


def test_a_lab_ends_with_the_process_that_wanted_it() -> None:
    needs_lab()
    marker = f"marker-{uuid.uuid4()}"
    with subprocess.Popen(
        lab_command("--", "sh", "-c", "sleep 1000", marker), stderr=subprocess.DEVNULL
    ) as process:
        try:
            # The program itself, and not a command line that only names it.
            assert wait_until(lambda: any(c.split()[0].endswith("sh") for c in processes_with(marker)))
        finally:
            process.kill()
    assert wait_until(lambda: processes_with(marker) == [])
