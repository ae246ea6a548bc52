# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the Python side; `plait bench` lists them with those that are built."""
