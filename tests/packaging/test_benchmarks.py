# SPDX-License-Identifier: GPL-3.0-or-later
"""`make bench` runs every benchmark, and fails if one of them did."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..bench import __main__ as benchmarks

FOLDER = Path(benchmarks.__file__).parent


@pytest.mark.parametrize("name", benchmarks.modules())
def test_every_line_names_a_benchmark_that_can_be_run(name):
    paths = FOLDER / f"{name}.py", FOLDER / name / "__main__.py"
    assert any(path.exists() and 'if __name__ == "__main__":' in path.read_text(encoding="utf-8") for path in paths)


def test_a_benchmark_that_fails_does_not_stop_the_others_and_is_named(capfd):
    outcomes = benchmarks.run(["no_such_benchmark --limit 2", "captured --help"])
    assert [outcome.status == 0 for outcome in outcomes] == [False, True]
    said = benchmarks.report(outcomes)
    assert said.endswith("1 of 2 benchmarks failed:\n  no_such_benchmark --limit 2")
    assert "no_such_benchmark" in capfd.readouterr().err


@pytest.mark.parametrize(("line", "status"), [("no_such_benchmark", 1), ("captured --help", 0)])
def test_the_status_is_one_if_a_benchmark_failed(line, status, monkeypatch):
    monkeypatch.setattr(benchmarks, "BENCHMARKS", (line,))
    monkeypatch.setattr("sys.argv", ["bench"])
    assert benchmarks.main() == status


def test_a_name_that_is_none_of_them_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench", "captured", "no_such_benchmark"])
    with pytest.raises(SystemExit):
        benchmarks.main()
    assert "no benchmark is called no_such_benchmark" in capsys.readouterr().err
