"""Everything that is wrong with a scene, at once, by object and field."""
