"""The printed text runs as a module that tracebacks, inspect and pickle know."""

import inspect
import json
import linecache
import os
import pickle
import sys
from pathlib import Path

import pytest

from specc.runtime.execute import load_text, train_records, train_text

TEXT = '''"""A training without torch."""

import os

RANK = int(os.environ.get("RANK", "0"))
METRICS = os.environ.get("METRICS")
STEPS = 4


class Point:
    def __init__(self, x):
        self.x = x

    def half(self):
        return 1 / self.x


class Scalar:
    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


def train(model, optimizer, batches, start=0):
    for step in range(start, STEPS):
        yield {"step": step, "loss": Scalar(4.0 - step)}


def main():
    for row in train(None, None, None):
        if row["step"] == 0:
            row["weights"] = "3f9a"
        print("step", row["step"], METRICS)


if __name__ == "__main__":
    raise AssertionError("a text that is loaded is not the main program")
'''


def with_main(body: str) -> str:
    return TEXT.replace(
        "    for row in train(None, None, None):\n", f"    {body}\n    for row in []:\n"
    )


def test_the_text_is_found_under_its_file_name() -> None:
    module = load_text(TEXT, "tiny")
    assert module.__name__ == "specc_tiny"
    assert "".join(linecache.getlines(str(module.__file__))) == TEXT
    linecache.checkcache()
    assert "".join(linecache.getlines(str(module.__file__))) == TEXT
    assert (
        inspect.getsource(module.Point.half) == "    def half(self):\n        return 1 / self.x\n"
    )
    assert inspect.getsource(module.Point).startswith("class Point:\n")


def test_objects_of_the_text_can_be_pickled() -> None:
    module = load_text(TEXT, "tiny")
    point = pickle.loads(pickle.dumps(module.Point(3)))  # noqa: S301  our own bytes
    assert isinstance(point, module.Point)
    assert point.x == 3


def test_a_name_that_is_no_identifier_or_a_package_is_no_obstacle() -> None:
    assert load_text(TEXT, "gpt-2.5 small").__name__ == "specc_gpt_2_5_small"
    assert load_text(TEXT, "json").__name__ == "specc_json"
    assert sys.modules["json"] is json


def test_two_texts_of_one_name_keep_their_own_lines() -> None:
    first, second = load_text(TEXT, "tiny"), load_text(TEXT + "\nMORE = 1\n", "tiny")
    assert first.__file__ != second.__file__
    assert linecache.getline(str(first.__file__), 1) == linecache.getline(str(second.__file__), 1)


def test_a_run_prints_what_main_prints_and_restores_the_environment(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert train_text(TEXT, "tiny", env={"METRICS": "m.jsonl"}) == 0
    captured = capfd.readouterr()
    assert captured.out == "".join(f"step {step} m.jsonl\n" for step in range(4))
    assert captured.err == ""
    assert "METRICS" not in os.environ


def test_a_failure_shows_the_lines_of_the_text_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert train_text(with_main("Point(0).half()"), "tiny") == 4
    shown = capfd.readouterr().err
    assert shown.startswith("Traceback (most recent call last):\n")
    assert "in main\n    Point(0).half()\n" in shown
    assert "return 1 / self.x" in shown
    assert shown.endswith("ZeroDivisionError: division by zero\n")
    assert "execute.py" not in shown


def test_a_known_symptom_comes_with_its_remedy(capfd: pytest.CaptureFixture[str]) -> None:
    body = 'raise RuntimeError("CppCompileError: C++ compile error")'
    assert train_text(with_main(body), "tiny") == 4
    assert "\nhelp: install g++" in capfd.readouterr().err


def test_a_refusal_is_shown_as_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    assert train_text(with_main('raise SystemExit("no file matches data/*.bin")'), "tiny") == 4
    assert capfd.readouterr().err == "no file matches data/*.bin\n"


@pytest.mark.parametrize(("code", "expected"), [("", 0), ("0", 0), ("1", 4)])
def test_an_exit_code_of_the_text_is_kept_apart_from_ours(code: str, expected: int) -> None:
    assert train_text(with_main(f"raise SystemExit({code})"), "tiny") == expected


def test_ctrl_c_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert train_text(with_main("raise KeyboardInterrupt"), "tiny") == 4
    assert capfd.readouterr().err == "stopped by Ctrl-C\n"


def test_a_missing_package_is_the_environments_fault(capfd: pytest.CaptureFixture[str]) -> None:
    text = TEXT.replace("import os\n", "import os\nimport torch_musa\n", 1)
    assert train_text(text, "tiny") == 3
    assert "help: install torch and torch_musa from" in capfd.readouterr().err


def test_with_an_agent_the_first_rank_tells_it_and_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "error.json"
    env = {"TORCHELASTIC_ERROR_FILE": str(file), "RANK": "0"}
    assert train_text(with_main('raise SystemExit("16 ranks, not 2")'), "tiny", env=env) == 4
    assert capfd.readouterr().err == ""
    message = json.loads(file.read_text())["message"]
    assert message["message"] == "16 ranks, not 2"
    assert int(message["extraInfo"]["timestamp"]) > 0  # torch's agent parses it so


def test_with_an_agent_other_ranks_print_into_their_log_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "error.json"
    env = {"TORCHELASTIC_ERROR_FILE": str(file), "RANK": "1"}
    assert train_text(with_main("Point(0).half()"), "tiny", env=env) == 4
    assert "ZeroDivisionError" in capfd.readouterr().err
    message = json.loads(file.read_text())["message"]
    assert message["message"] == "ZeroDivisionError: division by zero"
    assert "return 1 / self.x" in message["extraInfo"]["py_callstack"]


def test_records_are_plain_numbers_of_as_many_steps_as_asked() -> None:
    everything: list[dict[str, float | str]] = [
        {"step": step, "loss": 4.0 - step} for step in range(4)
    ]
    everything[0]["weights"] = "3f9a"
    assert train_records(TEXT, "tiny") == everything
    assert train_records(TEXT, "tiny", 2) == everything[:2]
