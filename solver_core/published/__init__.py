# SPDX-License-Identifier: GPL-3.0-or-later
"""The published methods and their steps of a simulation: Baraff 1991 and 1994, Faure 1996. Loaded when one is selected."""
