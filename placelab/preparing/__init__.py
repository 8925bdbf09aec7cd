"""Make a problem smaller before it is placed; each transformation returns the way back, too."""
