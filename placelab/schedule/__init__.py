"""What comes out: placement, order, schedule; and the catalogue of the functions that return them."""
