"""Makes configurations of the files of other systems, in a process that `skyline import` starts."""
