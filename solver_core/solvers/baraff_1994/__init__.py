"""Pivoting: Baraff 1994, Fast contact force computation for nonpenetrating rigid bodies."""
