# SPDX-License-Identifier: Apache-2.0
"""A short transfer over plain TCP between two hosts: what the link gives below any MPI.

Run as a program, it is one end: `transfer.py receive BYTES ADDRESS` or `transfer.py send BYTES ADDRESS`,
both with the receiver's address. The sender prints the bits per second of the payload and the median
round trip in microseconds.
"""

from __future__ import annotations

import socket
import statistics
import sys
import time

_PORT = 4077
_ROUND_TRIPS = 300
_SECONDS_MAX = 30.0


def receive(count: int, address: str) -> None:
    with socket.create_server((address, _PORT)) as server:
        server.settimeout(_SECONDS_MAX)
        print("listening", flush=True)
        connection, _ = server.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(_ROUND_TRIPS):
                connection.sendall(connection.recv(1))
            buffer = bytearray(1 << 20)
            while count > 0 and (size := connection.recv_into(buffer)) > 0:
                count -= size
            connection.sendall(b".")


def send(count: int, address: str) -> None:
    with socket.create_connection((address, _PORT), timeout=_SECONDS_MAX) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        round_trips = []
        for _ in range(_ROUND_TRIPS):
            start = time.perf_counter()
            connection.sendall(b".")
            connection.recv(1)
            round_trips.append(time.perf_counter() - start)
        data = bytes(count)
        start = time.perf_counter()
        connection.sendall(data)
        connection.recv(1)
        seconds = time.perf_counter() - start
    print(count * 8 / seconds, statistics.median(round_trips) * 1e6)


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(int(sys.argv[2]), sys.argv[3])
    else:
        send(int(sys.argv[2]), sys.argv[3])
