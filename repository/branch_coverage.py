"""Coverage of branches on Python 3.12 at the cost that it has on 3.14: `python repository/branch_coverage.py run -m pytest`.

Takes the arguments of `coverage`. Its core on `sys.monitoring` measures branches only from Python 3.14 on, whose events tell which side of a
branch was taken. Before, coverage traces each line of each module, also of all that it does not measure, and tests take two to three times as long.

Python 3.12 has one event for both sides, which names where it leads. So a branch is watched here until it has gone both ways. The end of an
`async for` is no event at all; functions that have one are followed line by line. An error out of a loop's iterator, which the tracer takes for
the loop's end where a `with` stands around it, counts for none here. The private names of coverage that this
stands on are those of the version in `uv.lock`. Source: coverage 7.17.3, coverage/sysmon.py
"""

import dis
import sys
import sysconfig
from pathlib import Path
from types import CodeType

from coverage import bytecode, core, env, sysmon
from coverage.bytecode import BranchArcResolver
from coverage.sysmon import SysMonitor


DISABLE = sys.monitoring.DISABLE
ASYNC_FOR = dis.opmap["END_ASYNC_FOR"]
RERAISE = dis.opmap["RERAISE"]
# What stands before a RERAISE and does nothing that a test could see.
PASSED = {
    dis.opmap[name]
    for name in ("CACHE", "CALL_INTRINSIC_1", "COPY", "POP_EXCEPT", "POP_TOP", "PUSH_EXC_INFO")
}


class Resolver(BranchArcResolver):
    """What finds the line that a branch leads to, also where it leads to the end of a `finally` that an error came through."""

    def resolve(self, source: int, dest: int) -> tuple[int, int] | None:
        """Return the lines of a branch and of what comes after it, which is minus the first one where the function ends."""
        handlers = dis._parse_exception_table(self.code)  # noqa: SLF001 - the only way to it
        while (found := super().resolve(source, dest)) is None:
            while self.co_code[dest] in PASSED:
                dest += 2
            if self.co_code[dest] != RERAISE:
                return None
            outer = [entry.target for entry in handlers if entry.start <= dest < entry.end]
            if not outer:
                line = self.line_at(source)
                return None if line is None else (line, -self.code.co_firstlineno)
            (dest,) = outer
        return found


class BranchMonitor(SysMonitor):
    """A core of coverage that does with one event for both sides of a branch."""

    def __init__(self) -> None:
        super().__init__()
        self._taken: dict[tuple[int, int], int] = {}  # where each branch has led to first
        self._followed: dict[int, dict[int, int | None]] = {}  # the last line of each frame

    def sysmon_py_start(self, code: CodeType, instruction_offset: int) -> object:
        """Decide about a function at its first call, and note each call of one that is followed."""
        frame = sys._getframe(1)  # noqa: SLF001 - the only way to it
        followed = self._followed.get(id(code))
        if followed is None:
            name = code.co_filename
            if name not in self.should_trace_cache:
                self.should_trace_cache[name] = self.should_trace(name, frame)
            super().sysmon_py_start(code, instruction_offset)
            if not self.code_infos[id(code)].tracing or ASYNC_FOR not in code.co_code[::2]:
                return DISABLE
            followed = self._followed[id(code)] = {}
        followed[id(frame)] = None
        return None

    def sysmon_line_arcs(self, code: CodeType, line_number: int) -> object:
        """Note a line once; where the function is followed, from which line it was reached as well."""
        if id(code) not in self.code_infos:
            return None  # begun before a fork, by what the parent measures with
        executed = self.code_infos[id(code)].file_data
        executed.add((line_number, line_number))
        followed = self._followed.get(id(code))
        if followed is None:
            return DISABLE
        frame = id(sys._getframe(1))  # noqa: SLF001 - the only way to it
        if last := followed.get(frame):
            executed.add((last, line_number))
        followed[frame] = line_number
        return None

    def sysmon_branch_either(
        self, code: CodeType, instruction_offset: int, destination_offset: int
    ) -> object:
        """Note a side of a branch; there are no more than two."""
        branch = (id(code), instruction_offset)
        taken = self._taken.get(branch)
        if taken == destination_offset or id(code) not in self.code_infos:
            return None
        self._taken.setdefault(branch, destination_offset)
        super().sysmon_branch_either(code, instruction_offset, destination_offset)
        return None if taken is None else DISABLE


def use_monitor() -> None:
    """Make `BranchMonitor` what coverage measures with, where its own core cannot measure branches."""
    if not env.PYBEHAVIOR.branch_right_left:
        events = sys.monitoring.events
        events.BRANCH_LEFT = events.BRANCH_RIGHT = events.BRANCH
        bytecode.RETURNS.add(dis.opmap["RETURN_CONST"])
        env.PYBEHAVIOR.branch_right_left = True
        env.SYSMON_DEFAULT = True
        core.SysMonitor = BranchMonitor
        sysmon.BranchArcResolver = Resolver


def use_monitor_in_subprocesses() -> None:
    """Do the same in each Python process of this environment in which coverage starts by itself."""
    here = Path(__file__)
    code = f"""
if os.getenv("COVERAGE_PROCESS_CONFIG"):
    sys.path.append({str(here.parent)!r})
    import {here.stem}
    sys.path.pop()
    {here.stem}.use_monitor()
"""
    # By its name it comes before the file of coverage.
    place = Path(sysconfig.get_path("purelib")) / "a0_branch_coverage.pth"
    place.write_text(f"import os, sys; exec({code!r})\n", encoding="utf-8")


if __name__ == "__main__":
    from coverage.cmdline import main

    use_monitor()
    use_monitor_in_subprocesses()
    sys.exit(main())
