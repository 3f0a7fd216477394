# SPDX-License-Identifier: GPL-3.0-or-later
"""What compiles: the kinds of kernel, where compiled code is kept, for which processor, and all of it at once, ahead."""
