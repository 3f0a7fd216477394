"""Staggered Projections: Kaufman, Sueda, James, Pai 2008, and the proposals that hasten them."""
