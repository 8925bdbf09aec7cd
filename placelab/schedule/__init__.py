"""Results: placements, schedules, their memory over time, and placements as files."""
