# SPDX-License-Identifier: Apache-2.0
"""Messages of all sizes, types and strides arrive as they were sent, beside MPI's own."""

import gc
import os
import threading
import time

import numpy as np
from mpi4py import MPI

import plait

comm = MPI.COMM_WORLD


def ring(rt: plait.Runtime) -> None:
    after, before = (rt.rank + 1) % rt.size, (rt.rank - 1) % rt.size
    for count in (0, 1, 1000, 200_000):
        for dtype in ("f8", "i2", "c16", "?"):
            mine = (np.arange(count) * (rt.rank + 1)).astype(dtype)
            received = rt.receive(count, before, 7, dtype=dtype)
            sent = rt.send(mine, after, 7)
            expected = (np.arange(count) * (before + 1)).astype(dtype)
            assert np.array_equal(received.result(), expected)
            assert sent.result() is None and sent.done()
            assert received.status == (before, 7, expected.nbytes)


def sections(rt: plait.Runtime) -> None:
    """Elements in C order, whatever the strides of either side."""
    whole = np.arange(6 * 7 * 8, dtype="f8").reshape(6, 7, 8)
    for index in (
        np.s_[:, 2, 3],
        np.s_[::2],
        np.s_[1:4, ::3, 2:5],
        np.s_[::-1, :, ::-2],
        np.s_[2, 3, 4:4],
    ):
        for source in (whole[index], np.asfortranarray(whole)[index], whole.transpose(2, 0, 1)[index]):
            target = np.zeros([2 * n for n in source.shape])[
                tuple([slice(None, None, -2)] * source.ndim)
            ]
            received = rt.receive(target, rt.rank, 1)
            rt.send(source, rt.rank, 1)
            assert received.result() is target
            assert np.array_equal(target, source)
    strided = np.zeros((300, 400))
    received = rt.receive(strided[:, ::2], (rt.rank - 1) % rt.size, 2)
    rt.send(np.full((200, 300), 5.0).T, (rt.rank + 1) % rt.size, 2).wait()
    received.wait()
    assert strided[:, ::2].min() == 5 and strided[:, 1::2].max() == 0


def other_buffers(rt: plait.Runtime) -> None:
    target = bytearray(5)
    received = rt.receive(target, rt.rank, 3)
    rt.send(b"bytes", rt.rank, 3)
    assert received.result() == b"bytes"
    structured = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    received = rt.receive(np.empty_like(structured), rt.rank, 3)
    rt.send(structured, rt.rank, 3)
    assert np.array_equal(received.result(), structured)
    scalar = np.array(3.5)
    received = rt.receive(np.array(0.0), rt.rank, 3)
    rt.send(scalar, rt.rank, 3)
    assert received.result() == 3.5
    received = rt.receive((2, 3), rt.rank, 3)
    rt.send(np.broadcast_to(7.0, (2, 3)), rt.rank, 3)
    assert (received.result() == 7).all()


def wildcards(rt: plait.Runtime) -> None:
    comm.Barrier()
    futures = [rt.send(np.full(2, rt.rank), to, 100 + rt.rank) for to in range(rt.size)]
    seen = set()
    for _ in range(rt.size):
        received = rt.receive(2, MPI.ANY_SOURCE, MPI.ANY_TAG, dtype=int)
        data = received.result()
        assert received.status is not None
        source, tag, size = received.status
        assert source is not None and tag == 100 + source and size == 16 and (data == source).all()
        seen.add(source)
    assert seen == set(range(rt.size))
    plait.wait_all(futures)
    comm.Barrier()  # what a faster rank sends next would match, too


def forgotten(rt: plait.Runtime) -> None:
    """Arrays outlive their names until their messages are complete."""
    after, before = (rt.rank + 1) % rt.size, (rt.rank - 1) % rt.size
    target = np.zeros(300_000)
    rt.receive(target, before, 11)
    rt.send(np.arange(300_000.0), after, 11)
    gc.collect()
    last = rt.receive(1, before, 12)
    rt.send(np.zeros(1), after, 12)
    last.wait()
    while not np.array_equal(target, np.arange(300_000.0)):
        assert not rt.receive(1, rt.rank, 999).done()  # never sent: abandoned at the end
    for i in range(500):  # more than are swept at once
        rt.receive(4, rt.rank, 13)
        rt.send(np.full(4, float(i)), rt.rank, 13)


def timeouts(rt: plait.Runtime) -> None:
    received = rt.receive(1, rt.rank, 21)
    assert not received.done() and received.status is None and "pending" in repr(received)
    try:
        received.wait(timeout=0.02)
        raise AssertionError("it ended")
    except TimeoutError as error:
        assert "0.02 s, and continues" in str(error)
    rt.send(np.ones(1), rt.rank, 21)
    assert received.result(timeout=60)[0] == 1 and "complete" in repr(received)


def threads_at_once(rt: plait.Runtime) -> None:
    """Waits leave the GIL to other threads."""
    found = []
    received = rt.receive(1, rt.rank, 31)
    waiting = threading.Thread(target=lambda: found.append(received.result()[0]))
    waiting.start()
    rt.send(np.full(1, 4.0), rt.rank, 31)
    waiting.join()
    assert found == [4.0]


def background(rt: plait.Runtime) -> None:
    """Data move while no thread calls the engine."""
    if rt.size == 1:
        return
    peer = rt.rank ^ 1
    if peer < rt.size:
        array_in = np.full(1 << 20, -1.0)
        received = rt.receive(array_in, peer, 41)
        array = np.full(1 << 20, float(rt.rank))
        rt.send(array, peer, 41)
        end = time.monotonic() + 60
        while (array_in == peer).sum() < array_in.size:
            assert time.monotonic() < end, "nothing moved in the background"
        assert (received.result() == peer).all()


def beside_mpi(rt: plait.Runtime) -> None:
    """Equal tags of MPI and plait do not meet."""
    mine = np.full(3, rt.rank)
    received = rt.receive(3, rt.rank, 5, dtype=int)
    request = comm.Isend(mine, rt.rank, 5)
    other = np.empty_like(mine)
    rt.send(mine + 10, rt.rank, 5)
    comm.Recv(other, rt.rank, 5)
    request.Wait()
    assert (other == rt.rank).all() and (received.result() == rt.rank + 10).all()


with plait.Runtime(comm) as rt:
    assert (rt.rank, rt.size) == (comm.rank, comm.size) and rt.is_open and rt.workers >= 1
    ring(rt)
    sections(rt)
    other_buffers(rt)
    wildcards(rt)
    forgotten(rt)
    timeouts(rt)
    threads_at_once(rt)
    beside_mpi(rt)
    if os.environ.get("PLAIT_PROGRESS") != "none":
        background(rt)
    rest = rt.receive(1, rt.rank, 50)
assert not rt.is_open
try:
    rest.wait()
    raise AssertionError("it ended")
except ValueError as error:
    assert "closed before this operation was complete" in str(error)
half = comm.Split(comm.rank % 2)
with plait.Runtime(half, progress=False) as first, plait.Runtime(comm) as second:
    for each, size in ((first, half.size), (second, comm.size)):
        assert each.size == size
        got = each.receive(1, (each.rank - 1) % each.size)
        each.send(np.full(1, float(each.rank)), (each.rank + 1) % each.size)
        assert got.result(60)[0] == (each.rank - 1) % each.size
print("ok")
