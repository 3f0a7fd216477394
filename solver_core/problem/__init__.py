"""The contact problem: its equations, its solutions, and the measures of these that no solver decides."""
