"""What cylinders and cones meet: polyhedra, each other, meshes."""
