# SPDX-License-Identifier: GPL-3.0-or-later
"""Files: checksummed chunks, and the scene snapshots and frame caches that consist of them."""
