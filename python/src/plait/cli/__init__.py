# SPDX-License-Identifier: Apache-2.0
"""Commands and their options, a file each; what they do is in `plait.commands`."""
