"""Makes data set files of what people bring: `skyline prep` starts this package as a process of its own."""
