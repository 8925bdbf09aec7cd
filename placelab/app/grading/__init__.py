"""Grade copies of the course's lessons that students have filled in."""
