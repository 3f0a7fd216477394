"""What convex polyhedra meet: each other, boxes, planes."""
