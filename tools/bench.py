"""Run tests/bench on one thread in one process; print a table, write it to chapters/bench.csv."""

import csv
import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "_build"
COLUMNS = ("date", "size", "form", "median_ms", "ratio", "peak_MB", "peak_tables")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM")}
OPTIONS = "--benchmark-only --benchmark-warmup=on --benchmark-min-rounds=5 --benchmark-max-time=3"


def measure() -> list[dict]:
    """Return a row for each size and form; a ratio is to the two products of the same size."""
    BUILD.mkdir(exist_ok=True)
    answer = BUILD / "bench.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *OPTIONS.split()]
    command += [f"--benchmark-json={answer}", "tests/bench"]
    run = subprocess.run(
        command, cwd=ROOT, env=os.environ | ONE_THREAD, text=True, capture_output=True
    )
    if run.returncode:
        sys.exit(run.stdout + run.stderr)
    rows, floor = [], {}
    for found in json.loads(answer.read_text())["benchmarks"]:
        size, form = found["params"]["size"], found["params"].get("form", "")
        median = found["stats"]["median"]
        floor.setdefault(size, median)  # the two products come first
        numbers = {"median_ms": median * 1e3, "ratio": median / floor[size]} | found["extra_info"]
        row = {"date": date.today().isoformat(), "size": size, "form": form}
        rows.append(row | {name: f"{number:.2f}" for name, number in numbers.items()})
    return rows


def import_time(module: str) -> dict[str, float]:
    """Return the milliseconds that ``import module`` takes, and each import in it, with its own."""
    command = [sys.executable, "-X", "importtime", "-c", f"import {module}"]
    report = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True).stderr
    lines = re.findall(r"\| +(\d+) \| +([\w.]+)$", report, flags=re.MULTILINE)
    return {name: int(microseconds) / 1e3 for microseconds, name in lines}


def main() -> None:
    rows = measure()
    with open(ROOT / "chapters" / "bench.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(rows)
    for row in [dict(zip(COLUMNS, COLUMNS, strict=True)), *rows]:
        _, size, form, *numbers = (row.get(column, "-") for column in COLUMNS)
        print(f"{size:>16}  {form:<20}" + "".join(f"{number:>12}" for number in numbers))
    imports = import_time("attnlib")
    print(f"import attnlib: {imports['attnlib']:.0f} ms, of which numpy {imports['numpy']:.0f} ms")


if __name__ == "__main__":
    main()
