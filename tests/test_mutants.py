"""The checks are tested too: each known bug is rejected, by the check that its name promises."""

import pytest

from tests.checks.attention_checks import CHECKS, failure
from tests.mutants.attention_mutants import MUTANTS, SCAFFOLD

CASES = [
    pytest.param(target, wrong, check, id=f"{target}: {name} <- {check}")
    for target, table in MUTANTS.items()
    for name, (wrong, check) in table.items()
]


@pytest.mark.parametrize(("target", "wrong", "check"), CASES)
def test_a_wrong_version_is_rejected(target, wrong, check):
    reason = failure(CHECKS[target][check], wrong)
    assert reason, f"{check} does not see the bug"
    assert reason.startswith(("AssertionError", "ValueError"))


@pytest.mark.parametrize("check", CHECKS["attention"].values(), ids=CHECKS["attention"])
def test_what_the_wrong_versions_are_made_of_is_right(check):
    """So it is the bug that a check rejects, and not the stages that the wrong versions share."""
    assert failure(check, SCAFFOLD) is None


def test_there_are_enough_of_them():
    assert sum(map(len, MUTANTS.values())) >= 24
    assert len({wrong for table in MUTANTS.values() for wrong, _ in table.values()}) == len(CASES)
