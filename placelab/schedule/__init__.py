"""Hold what comes out: placements, schedules, their memory over time, and the file that holds a placement."""
