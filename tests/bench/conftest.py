"""Benchmarks run on request only: `make bench`."""


def pytest_ignore_collect(config):
    return None if config.getoption("benchmark_only", False) else True
