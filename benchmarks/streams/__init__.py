"""Who keeps coverage promises on streams? Methods, streams, and the tables."""
