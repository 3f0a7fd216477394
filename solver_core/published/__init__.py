# SPDX-License-Identifier: GPL-3.0-or-later
"""The published methods and their simulation steps: Baraff 1991 and 1994, Faure 1996. Loaded when one of them is selected."""
