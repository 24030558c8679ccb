"""Wrong gradients and streaming reads are rejected, by the check that each promises."""

import pytest

from tests.checks import gradient_checks, streaming_checks
from tests.checks.attention_checks import failure
from tests.mutants import gradient_mutants, streaming_mutants

CHECKS = gradient_checks.CHECKS | streaming_checks.CHECKS
MUTANTS = gradient_mutants.MUTANTS | streaming_mutants.MUTANTS
CASES = [
    pytest.param(wrong, CHECKS[target][check], id=f"{target}: {name} <- {check}")
    for target, table in MUTANTS.items()
    for name, (wrong, check) in table.items()
]


@pytest.mark.parametrize(("wrong", "check"), CASES)
def test_a_wrong_version_is_rejected(wrong, check):
    reason = failure(check, wrong)
    assert reason, "the check does not see the bug"
    assert reason.startswith(("AssertionError", "ValueError"))


def test_every_edit_makes_a_version_of_its_own():
    edits = [tuple(e[1:]) for table in gradient_mutants.EDITS.values() for e in table.values()]
    edits += [e[1:] for e in streaming_mutants.EDITS.values()]
    assert len(edits) >= len(set(edits)) >= 60
