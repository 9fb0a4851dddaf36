"""Problems as people have them, against what users would take instead; one file per kind."""
