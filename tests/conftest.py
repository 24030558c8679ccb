"""One hypothesis profile for the whole suite: the same examples on every machine."""

from hypothesis import settings

settings.register_profile("suite", max_examples=60, deadline=None, derandomize=True, database=None)
settings.load_profile("suite")
