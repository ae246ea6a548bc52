# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from plait._labels import LABELS_MAX, label


def test_equal_rows_have_equal_labels_and_others_do_not() -> None:
    random = np.random.default_rng(1)
    for high in (3, 1 << 20, 1 << 62):
        columns = [random.integers(0, high, 2000, dtype=np.uint64) for _ in range(3)]
        columns[1][::2] = columns[1][0]
        for column in columns:
            column[1000:] = column[:1000]
        labels = label(*columns)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        assert (
            len(set(rows))
            == len(set(labels.tolist()))
            == len(set(zip(rows, labels.tolist(), strict=True)))
        )
        assert labels.min() >= 0 and labels.max() < LABELS_MAX
        assert [rows[i] for i in np.argsort(labels, kind="stable")] == sorted(rows)


def test_values_may_be_negative() -> None:
    assert label(np.array([-1, 3, -1, 0])).tolist() == [0, 4, 0, 1]


def test_nothing_has_no_labels() -> None:
    assert label(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)).size == 0
