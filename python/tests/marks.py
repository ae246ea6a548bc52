# SPDX-License-Identifier: Apache-2.0
"""What tests need that the set-up may have to do without: each is named, with its reason, as not run."""

from __future__ import annotations

import pytest

from plait.report.graphviz import has_dot

#: Graphviz draws graphs as SVG, and nothing else in a report: `tools/setup` takes it where apt has it.
needs_dot = pytest.mark.skipif(not has_dot(), reason="no Graphviz here: apt-get install graphviz")
