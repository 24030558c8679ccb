"""Functions of which some are wrong: what exercises give to be judged, one file a chapter."""
