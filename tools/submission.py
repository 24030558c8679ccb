"""Find, mend and execute one submission, in a process of its own and under limits.

tools/grade.py starts that process, and reads the outcome and the executed notebook.
The limits catch accidents and pranks. They are no sandbox: a submission runs with the rights of
whoever grades, and may read and write what they may. Grade as a user of its own, or in a container.
"""

import contextlib
import json
import os
import resource
import shutil
import signal
import threading
import warnings
from pathlib import Path
from time import monotonic
from types import SimpleNamespace

import nbformat
import psutil
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from nbclient.util import run_sync
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute
from repair import about, exercise_of, is_test, repair

MEGABYTE = 2**20
LARGEST = 100 * MEGABYTE  # of a submitted folder, and of a file that a submission writes
BESIDES = 2048  # MB of addresses that a kernel may take and not use, as its libraries do
ATTEMPTS = 5  # executions, each without the cells that killed the kernel before
STOPPED_BY_CHECK = "It ran for more than"  # what attnlib.exercises says of a function

# Run in the kernel before anything else. exit() shall end no kernel, so that later cells count,
# and tests shall meet the genuine check, numpy and built-in functions.
SETTLE = """
def keep():
    import builtins, sys, numpy, attnlib.exercises
    trusted = [builtins, numpy]
    trusted += [module for name, module in sys.modules.items() if "attnlib.exercises" in name]
    kept = [(vars(module), dict(vars(module))) for module in trusted]
    check = attnlib.exercises.check
    def genuine(space):
        for names, values in kept:
            names.update(values)
        for name in dir(builtins):
            if not name.startswith("_"):
                space.pop(name, None)
        space["check"] = check
    return genuine
get_ipython().genuine, get_ipython().ask_exit = keep(), lambda: None
del keep
"""
BEFORE_A_TEST = "get_ipython().genuine(get_ipython().user_ns)"


class Ungradable(Exception):
    """A submission that nothing can be executed of; the message is its status."""


class LimitedExecute(Execute):
    """nbgrader's ``Execute`` with limits on all that a notebook takes, and second tries.

    A cell that killed its kernel, broke a limit or would not be interrupted is replaced by an
    error, and the notebook starts again without it: the exercises after it get their points.
    """

    def __init__(self, limits, tell, **kwargs):
        super().__init__(**kwargs)
        self.limits, self.tell = limits, tell
        self.end = monotonic() + limits.seconds
        self.timeout_func = lambda cell: max(1, min(limits.cell_seconds, self.left()))
        self.on_notebook_start, self.on_cell_execute = self.settle, self.before
        self.shutdown_kernel = "immediate"
        self.refused = {}  # index of a cell -> what it did
        self.current = self.printed = 0
        self.broken = {}  # the same, for a cell that broke a limit in this execution

    def left(self) -> float:
        return self.end - monotonic()

    def run(self, notebook, folder: Path) -> None:
        """Execute ``notebook`` in place."""
        for _ in range(ATTEMPTS):
            self.broken, self.printed, self.kc = {}, 0, None
            kernel, over = AsyncKernelManager(kernel_name="python3"), threading.Event()
            threading.Thread(target=self.watch_memory, args=(kernel, over), daemon=True).start()
            try:
                self.preprocess(notebook, {"metadata": {"path": str(folder)}}, kernel)
                if not self.broken:
                    return
            except DeadKernelError:
                self.broken = self.broken or {self.current: "kernel died"}
            except TimeoutError:
                self.broken = self.broken or {self.current: "timed out"}
            finally:
                over.set()
                run_sync(kernel.shutdown_kernel)(now=True)
            self.refused |= self.broken
        for cell in notebook.cells[self.current :]:
            refuse(cell, "not run")

    async def settle(self, **_):
        await self.kc.execute_interactive(SETTLE, silent=True, timeout=60)

    async def before(self, cell, **_):
        if is_test(cell):
            await self.kc.execute_interactive(BEFORE_A_TEST, silent=True, timeout=10)

    def preprocess_cell(self, cell, resources, index):
        self.current = index
        if cell.cell_type != "code":
            return cell, resources
        self.tell(index)
        if index in self.refused or self.left() <= 0:
            refuse(cell, self.refused.get(index, "not run"))
            return cell, resources
        return super().preprocess_cell(cell, resources, index)

    def end_kernel(self, kernel, index: int, what: str) -> None:
        """End the kernel because a cell broke a limit."""
        self.broken = {index: what}
        with contextlib.suppress(ProcessLookupError):
            os.kill(kernel.provisioner.pid, signal.SIGKILL)

    def watch_memory(self, kernel, over: threading.Event) -> None:
        """End the kernel once it and its children hold more memory than is allowed."""
        while not over.wait(0.1):
            with contextlib.suppress(psutil.Error, AttributeError):  # not there yet, or no more
                one = psutil.Process(kernel.provisioner.pid)
                held = sum(p.memory_info().rss for p in [one, *one.children(recursive=True)])
                if held > self.limits.memory_mb * MEGABYTE:
                    self.end_kernel(kernel, self.current, "memory limit")

    def process_message(self, msg, cell, cell_index):
        """Count what is printed, and end the kernel when it is too much; shorten errors."""
        content = msg["content"]
        if msg["msg_type"] == "error":
            content["traceback"] = [line[:5000] for line in content["traceback"][-100:]]
            content["evalue"] = content["evalue"][:5000]
        elif msg["msg_type"] in ("stream", "display_data", "execute_result", "update_display_data"):
            self.printed += len(content.get("text") or repr(content.get("data")))
            if self.printed > self.limits.output_mb * MEGABYTE:
                if not self.broken:
                    self.end_kernel(self.km, cell_index, "output limit")
                return None
        return super().process_message(msg, cell, cell_index)


def refuse(cell, what: str) -> None:
    """Give the cell an error in place of its outputs: a test without outputs would be passed."""
    if cell.cell_type == "code":
        cell.outputs = [new_output("error", ename="NotGraded", evalue=what, traceback=[what])]
        cell.execution_count = None


def find(folder: Path, stem: str, notes: list[str]) -> Path:
    """Return the submitted notebook, which may have another name or lie deeper."""
    path = folder / f"{stem}.ipynb"
    if not path.is_file():
        found = (
            [one for one in folder.rglob("*.ipynb") if ".ipynb_checkpoints" not in one.parts]
            if folder.is_dir()
            else []
        )
        if not found:
            packed = folder.is_dir() and any(folder.rglob("*.zip"))
            raise Ungradable("a .zip file: unpack it" if packed else "no submission")
        if len(found) > 1:
            raise Ungradable(f"{len(found)} notebooks, none named {stem}.ipynb")
        path = found[0]
        notes.append(f"found as {path.relative_to(folder)}")
    files = [one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()]
    if (size := sum(one.stat().st_size for one in files)) > LARGEST:
        raise Ungradable(f"too large: {size / MEGABYTE:.0f} MB")
    return path


def read(path: Path):
    """Return the notebook, of whatever format version."""
    data = path.read_bytes()
    if not data.strip():
        raise Ungradable("empty file")
    try:
        notebook = nbformat.reads(data.decode("utf-8-sig"), as_version=4)
        for cell in notebook.cells:
            if not isinstance(cell.source, str) or not isinstance(cell.cell_type, str):
                raise TypeError
    except Exception:
        raise Ungradable("not a notebook") from None
    return notebook


def place(notebook, index: int) -> str:
    """Return how a status names a cell: by its exercise, else by its own name."""
    for cell in reversed(notebook.cells[: index + 1]):
        if exercise := exercise_of(cell.id):
            return exercise
        if not cell.id.startswith("own-"):
            break
    cell = notebook.cells[index]
    return f"cell {index + 1}" if cell.id.startswith("own-") else cell.id


def incidents(notebook) -> list[str]:
    """Return the notes on what happened while the notebook was executed."""
    places = {}
    for index, cell in enumerate(notebook.cells):
        for what in happened(cell):
            where = place(notebook, index)
            if where not in places.setdefault(what, []):
                places[what].append(where)
    hidden = places.pop("not run", [])
    notes = [f"{what} in {', '.join(where)}" for what, where in places.items()]
    return notes + ([f"time is up, not run: {', '.join(hidden)}"] if hidden else [])


def happened(cell):
    """Yield what happened in one cell, wrong answers aside."""
    outputs = cell.get("outputs", [])
    errors = {one.ename: one.evalue for one in outputs if one.output_type == "error"}
    said = "".join(one.get("text", "") for one in outputs) + " ".join(errors.values())
    if "NotGraded" in errors:
        if errors["NotGraded"] != "not run" or is_test(cell):
            yield errors["NotGraded"]
    elif "CellTimeoutError" in errors or (is_test(cell) and STOPPED_BY_CHECK in said):
        yield "timed out"
    elif any("MemoryError" in name for name in errors) or (is_test(cell) and "MemoryError" in said):
        yield "memory limit"
    elif not is_test(cell):
        yield from (name[:40] for name in errors)


def unanswered(notebook, released) -> list[str]:
    """Return the exercises whose written answer is as it was given out, which counts as 0."""
    given = {cell.id: cell.source for cell in released.cells}
    written = [cell for cell in notebook.cells if cell.cell_type == "markdown" and about(cell)]
    return [exercise_of(one.id) or one.id for one in written if one.source == given.get(one.id)]


def limit(memory_mb: int) -> None:
    """Limit this process and its children; macOS does not keep to the memory limit."""
    limits = [("AS", (memory_mb + BESIDES) * MEGABYTE), ("FSIZE", LARGEST), ("CORE", 0)]
    for name, value in limits:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))


def grade(job, notes: list[str], tell) -> None:
    """Do the job; ``notes`` grows as things are found."""
    folder, stem, out = Path(job.folder), job.stem, Path(job.out)
    source, released = (
        nbformat.read(Path(job.course) / step / stem / f"{stem}.ipynb", as_version=4)
        for step in ("source", "release")
    )
    path = find(folder, stem, notes)
    notebook = read(path)
    notes += repair(notebook, source, released)
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        raise Ungradable(f"not a notebook: {error.message[:80]}") from None
    work = Path(job.work)
    shutil.copytree(folder, work, symlinks=True, ignore=shutil.ignore_patterns("*.ipynb"))
    shutil.copytree(
        Path(job.course) / "source" / stem,
        work,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("*.ipynb"),
    )
    tell(notes, 0, notebook)
    engine = LimitedExecute(job, lambda index: tell(notes, index, notebook))
    engine.run(notebook, work)
    notes += incidents(notebook)
    if missed := unanswered(notebook, released):
        notes.append(f"no answer to {', '.join(missed)}")
    out.mkdir(parents=True)
    nbformat.write(notebook, out / f"{stem}.ipynb")
    if (stamp := folder / "timestamp.txt").is_file():
        shutil.copy(stamp, out)


def main(job: dict) -> None:
    """Do a job in a process made for it; the outcome is told in a file as it grows."""
    job, notes = SimpleNamespace(**job), []
    outcome = Path(job.outcome)

    def tell(notes, index=None, notebook=None, executed=False):
        where = place(notebook, index) if notebook else None
        told = {"notes": notes, "where": where, "executed": executed}
        outcome.with_suffix(".new").write_text(json.dumps(told), encoding="utf-8")
        outcome.with_suffix(".new").replace(outcome)

    os.setsid()
    for stream in range(3):  # what a kernel writes past its own streams goes nowhere
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    warnings.simplefilter("ignore")
    os.environ.update(job.environment)
    limit(job.memory_mb)
    try:
        grade(job, notes, tell)
    except Ungradable as error:
        tell([*notes, str(error)])
    except Exception as error:
        tell([*notes, f"could not be run: {type(error).__name__}: {error}"[:200]])
    else:
        tell(notes, executed=True)
