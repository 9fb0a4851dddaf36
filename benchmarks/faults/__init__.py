"""Workers that are killed, and databases that go away: what is lost, and what is not."""
