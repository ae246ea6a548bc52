# SPDX-License-Identifier: Apache-2.0
"""Commands and their options, a file each; what they do stands in `plait.commands`."""
