"""How each resource is read: what an actor may see of it, and in which shape. `queries` is the face of all of this."""
