# SPDX-License-Identifier: GPL-3.0-or-later
"""Solve a contact problem in a file: python -m solver_core.solve_file PROBLEM [--method M] [--tolerance T] [--output FILE]

PROBLEM is an HDF5 file of FCLIB, a text file of Siconos, or an npz file of Stiction. The output has one line each for the
problem, for repairs of its data, for the result, and for the residuals of the contact law with the worst contact, computed with
the matrices of the file. FILE, .npz or .hdf5, contains the problem with its solution. Exit status: 0 solved within the
tolerance, 3 not solved, 2 an input cannot be read or is invalid, 1 any other error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from .process.command_line import ExitStatus, Parser, UsageError, status_of
from .process.console import flush_output, prepare_streams, tell
from .process.ending import Ending, end_by_force, hear_parent, hear_signals

if TYPE_CHECKING:
    from .io.problem_data import ProblemFile
    from .problem.accuracy import Residuals
    from .problem.contact_problem import ContactProblem
    from .problem.result import Result

__all__ = ["add_arguments", "main", "run"]

METHODS = ("staggered", "pivot", "lemke", "energy")
# Fields of `Residuals`, in the order of the output. Those of joints and constraints appear only if there are any.
MEASURES = ("penetration", "cone", "complementarity", "dissipation", "natural_map", "joint", "bilateral")


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the solve, which `stiction solve` shares."""
    parser.add_argument("problem", metavar="PROBLEM", help="HDF5 of FCLIB, text of Siconos or npz of Stiction")
    parser.add_argument("--method", choices=METHODS, default="staggered", help="the solver (%(default)s)")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="largest relative error of the law (%(default)s)")
    parser.add_argument("--max-iterations", type=int, metavar="N", help="largest number of iterations")
    parser.add_argument("--time-limit", type=float, default=inf, metavar="SECONDS", help="when to give up (default: never)")
    parser.add_argument(
        "--rounding", choices=("repair", "refuse"), default="repair", help="for a matrix with few digits (%(default)s)"
    )
    parser.add_argument("--guess", action="store_true", help="start from the first guess in the file, if there is one")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the problem with its solution, as .npz or .hdf5")


def main(argv: Sequence[str], ending: Ending | None = None) -> int:
    """Run the command. argv: the command line without the program name. Returns the exit status."""
    # Imported here because they load numba and scipy.
    from .io.contact_problem_files import read_problem, refuse_problem, write_solution
    from .laboratory.solve import solve
    from .problem.accuracy import residuals

    name = ""
    try:
        parser = Parser(prog="python -m solver_core.solve_file", description="Solves a contact problem in a file.")
        add_arguments(parser)
        parser.add_argument("--parent-pipe", action="store_true", help="stop when standard input ends")
        arguments = parser.parse_args(argv)
        name = arguments.problem
        if arguments.parent_pipe and ending is not None:
            hear_parent(ending)
        if arguments.output is not None:
            refuse_problem(arguments.output)
        file = read_problem(arguments.problem)
        problem = file.problem(arguments.rounding)
        for line in described(file, problem):
            tell(line, sys.stdout)
        start = None
        if arguments.guess and file.guesses:
            start = file.guesses[0].r.reshape(problem.contacts, problem.dim)
        within = {"tolerance": arguments.tolerance, "time_limit": arguments.time_limit, "warm_start": start}
        result = solve(problem, arguments.method, max_iterations=arguments.max_iterations, **within)
        for line in told(problem, result, residuals(problem, result)):
            tell(line, sys.stdout)
        if arguments.output is not None:
            answered = replace(file, solution=file.answered(result))
            if ending is None:
                write_solution(arguments.problem, answered, arguments.output)
            else:
                with ending.writing:
                    write_solution(arguments.problem, answered, arguments.output)
            tell(f"wrote {arguments.output}", sys.stdout)
    except OSError as error:
        tell(str(error), sys.stderr)
        return status_of(error)
    except (UsageError, ValueError) as error:
        # A ProblemFileError names the file, and an error of `solve` names the argument.
        tell(str(error), sys.stderr)
        return ExitStatus.BAD_INPUT
    except MemoryError:
        tell(f"{name}: it needs more memory than this computer has free", sys.stderr)
        return ExitStatus.BAD_INPUT
    except SystemExit:
        # argparse exits after --help.
        return ExitStatus.DONE
    return ExitStatus.DONE if result.status == 0 else ExitStatus.MISSED_TOLERANCE


def described(file: ProblemFile, problem: ContactProblem) -> Iterator[str]:
    """Yield the description of a problem, and the repairs of its data."""
    kind = type(file.form).__name__
    names = {"LocalForm": "local form", "GlobalForm": "global form", "ContactProblem": "bodies"}
    joined = f", {problem.joints} triples of joints" if problem.joints else ""
    held = f", {problem.bilateral_constraints} bilateral constraints" if problem.bilateral_constraints else ""
    contacts = problem.contacts - problem.joints
    title = f": {file.title}" if file.title else ""
    yield f"problem: {contacts} contacts in {problem.dim} dimensions{held}{joined}, {names[kind]}{title}"
    if problem.rounded is not None:
        asymmetry, below = problem.rounded.asymmetry, abs(problem.rounded.below_zero)
        yield (
            f"repaired: asymmetry {asymmetry:.1e}, negative eigenvalues {below:.1e}, both relative to the largest entry; "
            "residuals are computed with the matrix in the file"
        )


def told(problem: ContactProblem, result: Result, measured: Residuals) -> Iterator[str]:
    """Yield the result of a solve, and its residuals."""
    stats = result.stats
    found = "" if stats.found is None else f", found by {stats.found.name.lower()}"
    yield f"status: {result.status.name}{found}"
    yield f"iterations: {stats.iterations}, factorizations: {stats.factorisations}, seconds: {stats.seconds:.3g}"
    for name in MEASURES:
        one = getattr(measured, name)
        if (name == "joint" and not problem.joints) or (name == "bilateral" and not problem.bilateral_constraints):
            continue
        row_kind = {"joint": "joint", "bilateral": "constraint"}.get(name, "contact")
        where = "" if one.index < 0 or one.value == 0.0 else f", worst at {row_kind} {one.index}"
        yield f"{name}: {one.relative:.1e} ({one.value:.1e} {one.unit}){where}"
    law = "Coulomb's law" if result.solver != "pivot" else "static friction"
    worst = measured.coulomb if result.solver != "pivot" else measured.static_friction
    yield f"{law}: {worst:.1e}"


def run(argv: Sequence[str]) -> int:
    """Solve as `main` does, in a process that signals end immediately. Returns the exit status."""
    prepare_streams()
    asked_to_end = Ending()
    hear_signals(asked_to_end)
    # Nothing has to be finished first.
    asked_to_end.hasten()
    end_by_force(asked_to_end, ExitStatus.FAILED)
    status = main(argv, asked_to_end)
    asked_to_end.done()
    flush_output()
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
