"""Problems as people have them, one file per kind: its tasks, its systems, and one run of one."""
