"""Factorisations that the solvers share."""
