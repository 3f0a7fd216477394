# SPDX-License-Identifier: GPL-3.0-or-later
"""Several processors: tasks that do not depend on each other, and how many of them are done at once."""
