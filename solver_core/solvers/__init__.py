"""The published algorithms, one a file."""
