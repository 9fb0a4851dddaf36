"""calibrant beside the systems that people would use instead: same tasks, same first points."""
