# SPDX-License-Identifier: Apache-2.0
"""docs/trace-format.md as numpy dtypes. Nothing else in the package knows a byte offset."""

from __future__ import annotations

from typing import Any

import numpy as np

MAGIC = b"PLAITTRC"
VERSION = 1
HEADER_BYTES = 4096
RECORD_BYTES = 64
NAME_BYTES = 56

KIND_NONE, KIND_CHUNK, KIND_NAME, KIND_TASK, KIND_MESSAGE = 0, 1, 2, 3, 4
KIND_SPAN, KIND_GAP, KIND_COUNTER, KIND_CLOCK = 5, 6, 7, 8
KIND_GRAPH_TASK, KIND_GRAPH_RUN = 9, 10
KIND_CALL, KIND_COMMUNICATOR, KIND_SHARES = 11, 12, 13
LATER_IN_RECORD = 12
MEMBERS_IN_RECORD = 12
SHARES_IN_RECORD = 6
ROLE_FUNCTION, ROLE_SITE = 3, 4
MATCHED_BY_ORDER, UNFINISHED = 1, 2  # flags of a message
NOTHING = 0xFFFFFFFF  # no rank, no communicator, no call site


def _record(**fields: tuple[int, Any]) -> np.dtype[Any]:
    """A 64-byte dtype of the named (offset, type) fields, with the kind at byte 0."""
    named = {"kind": (0, "u1"), **fields}
    return np.dtype(
        {
            "names": list(named),
            "offsets": [offset for offset, _ in named.values()],
            "formats": [kind for _, kind in named.values()],
            "itemsize": RECORD_BYTES,
        }
    )


HEADER = np.dtype(
    {
        "names": [
            *("magic", "version", "rank", "ranks", "record_bytes", "chunk_bytes"),
            *("wall_ns", "clock_ns"),
        ],
        "offsets": [0, 8, 12, 16, 20, 24, 32, 40],
        "formats": ["S8", "<u4", "<u4", "<u4", "<u4", "<u4", "<i8", "<i8"],
        "itemsize": HEADER_BYTES,
    }
)
CHUNK = _record(thread=(2, "<u2"), number=(4, "<u4"), name=(8, "V56"))
NAME = _record(role=(1, "u1"), length=(2, "<u2"), number=(4, "<u4"), text=(8, "V56"))
TASK = _record(
    flags=(1, "u1"),
    worker=(2, "<u2"),
    name=(4, "<u4"),
    object=(8, "<u8"),
    ready=(16, "<i8"),
    start=(24, "<i8"),
    end=(32, "<i8"),
    id=(40, "<u8"),
    released_by=(48, "<u8"),
    step=(56, "<u4"),
    place=(60, "<u4"),
)
MESSAGE = _record(
    direction=(1, "u1"),
    protocol=(2, "u1"),
    flags=(3, "u1"),
    peer=(4, "<u4"),
    communicator=(8, "<u4"),
    sequence=(12, "<u4"),
    tag=(16, "<u8"),
    bytes=(24, "<u8"),
    posted=(32, "<i8"),
    handed=(40, "<i8"),
    arrived=(48, "<i8"),
    completed=(56, "<i8"),
)
SPAN = _record(
    worker=(2, "<u2"),
    name=(4, "<u4"),
    object=(8, "<u8"),
    start=(16, "<i8"),
    end=(24, "<i8"),
    step=(32, "<u4"),
)
GAP = _record(worker=(2, "<u2"), start=(8, "<i8"), end=(16, "<i8"))
COUNTER = _record(name=(4, "<u4"), time=(8, "<i8"), value=(16, "<f8"), step=(24, "<u4"))
CLOCK = _record(time=(8, "<i8"), offset=(16, "<i8"), round_trip=(24, "<i8"))
GRAPH_TASK = _record(
    part=(1, "u1"),
    later_count=(2, "<u2"),
    name=(4, "<u4"),
    graph=(8, "<u4"),
    place=(12, "<u4"),
    later=(16, ("<u4", LATER_IN_RECORD)),
)
GRAPH_RUN = _record(graph=(4, "<u4"), start=(8, "<i8"), step=(16, "<u4"), active=(20, "<u4"))
CALL = _record(
    what=(1, "u1"),
    thread=(2, "<u2"),
    function=(4, "<u4"),
    site=(8, "<u4"),
    communicator=(12, "<u4"),
    start=(16, "<i8"),
    end=(24, "<i8"),
    bytes_given=(32, "<u8"),
    bytes_got=(40, "<u8"),
    peer=(48, "<u4"),
    number=(52, "<u4"),
    count=(56, "<u4"),
)
COMMUNICATOR = _record(
    communicator=(4, "<u4"),
    size=(8, "<u4"),
    first=(12, "<u4"),
    members=(16, ("<u4", MEMBERS_IN_RECORD)),
)
SHARES = _record(
    call=(4, "<u4"),
    first=(8, "<u4"),
    count=(12, "<u4"),
    bytes=(16, ("<u8", SHARES_IN_RECORD)),
)
