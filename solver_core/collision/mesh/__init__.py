"""What meshes meet: polyhedra and each other."""
