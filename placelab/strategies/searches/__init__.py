"""What searches share: exact models, the best plan so far, plans of the catalogue, samples."""
