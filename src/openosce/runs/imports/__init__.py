"""Released results of other people's studies, as runs like any other."""
