"""What every room needs: errors, names, units, seeds, progress; files within limits; threads that can be left."""
