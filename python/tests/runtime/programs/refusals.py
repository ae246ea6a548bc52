# SPDX-License-Identifier: Apache-2.0
"""Mistakes are exceptions that name what is wrong and what to do; the runtime goes on."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

import plait

_read_only = np.zeros(3)
_read_only.flags.writeable = False


def refused(kind: type[Exception], sentence: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except kind as error:
        assert re.search(sentence, str(error)), error
    else:
        raise AssertionError(f"it was accepted: {sentence}")


refused(ValueError, "intracommunicator", lambda: plait.Runtime(MPI.COMM_NULL))
refused(ValueError, "workers=0", lambda: plait.Runtime(workers=0))
refused(ValueError, 'progress="often" is unknown: use True', lambda: plait.Runtime(progress="often"))

with plait.Runtime() as rt:
    n, r = rt.size, rt.rank
    refused(ValueError, f"the receiver is rank {n}, and ranks are 0 to", lambda: rt.send(np.zeros(1), n))
    refused(ValueError, "the receiver is rank -1", lambda: rt.send(np.zeros(1), -1))
    refused(ValueError, "the sender is rank 99", lambda: rt.receive(1, 99))
    refused(ValueError, "the tag -5 is negative", lambda: rt.send(np.zeros(1), 0, -5))
    refused(ValueError, "the root is rank", lambda: rt.broadcast(np.zeros(1), n))
    refused(
        TypeError, r"is a list, and must be an array: pass numpy.asarray", lambda: rt.send([1, 2], 0)
    )
    refused(TypeError, "ndarray of object: Python objects", lambda: rt.send(np.array([{}, {}]), 0))
    refused(
        TypeError, r"ndarray of datetime64.*view of numbers", lambda: rt.send(np.zeros(2, "M8[s]"), 0)
    )
    refused(TypeError, "is a float", lambda: rt.receive(1.5, 0))
    refused(ValueError, "is read-only.*pass a writable array", lambda: rt.receive(_read_only, 0))
    refused(ValueError, "is read-only", lambda: rt.receive(b"abc", 0))
    overlapping = np.lib.stride_tricks.as_strided(np.zeros(10), (4, 4), (8, 16))
    refused(ValueError, "share memory.*pass a copy", lambda: rt.receive(overlapping, 0))
    uneven = np.zeros(n + 1, "u1") if n > 1 else np.zeros((2, 2))[:, 0]
    refused(ValueError, "multiple of the|not contiguous", lambda: rt.all_to_all(uneven, uneven.copy()))
    columns = np.zeros((n, 4))[:, ::2]
    refused(
        ValueError,
        r"shape \(\d, 2\) and is not contiguous.*ascontiguousarray",
        lambda: rt.all_to_all(columns, np.zeros((n, 2))),
    )
    refused(TypeError, "pass a list to receive into", lambda: rt.all_to_all([np.zeros(1)] * n))
    refused(
        ValueError, "one of each for each of the", lambda: rt.all_to_all([np.zeros(1)] * (n + 1), [])
    )
    refused(
        ValueError,
        "all_gather has 8 bytes from each",
        lambda: rt.all_gather(np.zeros(1), np.zeros(n + 1)),
    )

    received = rt.receive(4, r, 1)
    rt.send(np.zeros(2), r, 1)
    refused(plait.EngineError, "has 16 bytes, the array 32: receive into an array", received.result)
    received.wait()
    assert received.status == (r, 1, 16)
    received = rt.receive(1, r, 2)
    rt.send(np.zeros(2), r, 2)
    refused(plait.EngineError, "rank . with tag 2", received.result)
    try:
        received.result()
    except plait.EngineError as error:
        assert (error.code, error.rank) == ("truncated message", r), (error.code, error.rank)
    assert "failed" in repr(received) and received.done()
    refused(plait.EngineError, "it is lost", received.wait)

    with plait.region("outer"), plait.region("inner"):
        pass
    assert rt.all_gather(np.full(1, r)).result()[:, 0].tolist() == list(range(n))  # it goes on
refused(ValueError, "the runtime is closed", lambda: rt.send(np.zeros(1), 0))
rt.close()
print("ok")
