"""Read scientific workflows: WfFormat and DAX."""
