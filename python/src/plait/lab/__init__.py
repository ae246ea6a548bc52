# SPDX-License-Identifier: Apache-2.0
"""A small cluster on one machine: hosts that are namespaces, joined by links with a rate limit.

`outside` starts `inside` as the first process of namespaces of its own: it makes the hosts and their
links (`network`), measures them (`transfer`) and starts MPI across them (`mpi`). Nothing of it has a
name that the machine knows; it all ends with its first process, however that ends.
"""
