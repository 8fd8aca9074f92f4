"""Doctor judges what it sees against what a target needs, with the remedy."""

import re
import socket
import stat
import sys
from pathlib import Path

import attrs
import pytest

from specc.runtime.detect import detect
from specc.runtime.doctor import look_at_python
from specc.runtime.findings import Finding, as_json, as_text, exit_code
from specc.runtime.host import (
    look_at_compiler,
    look_at_name,
    look_at_ports,
    look_at_shared_memory,
)
from specc.runtime.installation import look_at_devices, look_at_plugin, look_at_torch
from specc.runtime.seen import Device, Seen, tool_version
from specc.targets import TARGETS
from specc.targets.release import find_release, misfit
from specc.targets.troubles import RELEASES, TOOLS

CPU, CUDA, MUSA = TARGETS["cpu"], TARGETS["cuda"], TARGETS["musa"]
S4000 = Device("MTT S4000", 48 * 2**30, (2, 2))
GOOD = Seen(
    "2.7.1", "2.7.1.post1", has_distributed=True, devices=(S4000,) * 8, collectives="2.11.4"
)

VERSION_QUERY = """cat <<'END'
musa_toolkits:
{
        "version":      "4.3.4",
        "git tag":      "No tag"
}
mccl:
{
        "version":      "2.11.4",
        "build archs":  "22"
}
END"""
GMI = """cat <<'END'
---------------------------------------------------------------
    mthreads-gmi:2.1.0           Driver Version:3.1.0-rc4.2.0-server-Ubuntu
---------------------------------------------------------------
END"""


@pytest.fixture
def vendor_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that print what the vendor's were reported to print."""
    for name, body in (("musa_version_query", VERSION_QUERY), ("mthreads-gmi", GMI)):
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


@pytest.mark.usefixtures("vendor_tools")
def test_a_good_installation_is_ok() -> None:
    versions = {tool.subject: tool_version(tool) for tool in TOOLS["musa"]}
    assert versions == {
        "MUSA SDK": "4.3.4",
        "MCCL of the SDK": "2.11.4",
        "driver": "3.1.0-rc4.2.0-server-Ubuntu",
    }
    findings = (
        *look_at_torch(MUSA, GOOD),
        *look_at_plugin(MUSA, GOOD),
        *look_at_devices(MUSA, GOOD, {}),
    )
    assert {finding.state for finding in findings} == {"ok"}
    assert "8 x MTT S4000 (mp_22 (S4000), 48.0 GiB)" in as_text(findings)
    assert detect({"PATH": ""}).name == "cpu"
    assert detect({"PATH": str(Path(sys.executable).parent)}).name in {"cpu", "cuda"}


@pytest.mark.usefixtures("vendor_tools")
def test_the_tools_of_a_vendor_tell_the_device_family(tmp_path: Path) -> None:
    assert detect({"PATH": str(tmp_path)}) is MUSA


@pytest.mark.parametrize(
    ("plugin", "torch", "sdk", "problem"),
    [
        ("2.7.1.post1", "2.7.1", "4.3.8", ""),
        ("2.7.0", "2.7.1", None, ""),
        ("2.9.1.post1", "2.9.1", "5.1.0", ""),
        ("2.11.0.post2", "2.11.0a0+git123", "5.2.0", ""),
        ("2.9.0", "2.7.1", None, "torch_musa 2.9.0 was made for torch 2.9.0, found 2.7.1"),
        (
            "2.7.1",
            "2.13.0+cpu",
            None,
            "torch_musa 2.7.1 was made for torch 2.7.1, found 2.13.0+cpu",
        ),
        (
            "2.9.1",
            "2.9.1",
            "4.3.2",
            "torch_musa 2.9.1 was made for SDK 5.1 or newer, found 4.3.2",
        ),
        (
            "2.7.1",
            "2.7.1",
            "5.1.0",
            "torch_musa 2.7.1 was made for SDK 4.3.4 to before 5, found 5.1.0",
        ),
    ],
)
def test_versions_are_judged_by_the_table(
    plugin: str, torch: str, sdk: str | None, problem: str
) -> None:
    release = find_release(RELEASES["musa"], tuple(map(int, re.findall(r"\d+", plugin))))
    assert release is not None
    assert misfit("torch_musa", release, torch, sdk) == problem


def test_a_pair_that_does_not_fit_is_missing() -> None:
    (finding,) = look_at_plugin(MUSA, attrs.evolve(GOOD, plugin="2.9.0"))
    assert (finding.state, finding.text) == (
        "missing",
        "torch_musa 2.9.0 was made for torch 2.9.0, found 2.7.1",
    )
    assert "releases" in finding.remedy


def test_a_plugin_that_is_too_old_or_unknown_is_said() -> None:
    (old,) = look_at_plugin(MUSA, attrs.evolve(GOOD, plugin="1.3.0"))
    (new,) = look_at_plugin(MUSA, attrs.evolve(GOOD, plugin="3.0.0"))
    assert (old.state, new.state) == ("missing", "note")
    assert "2.7.1 or newer" in old.remedy


@pytest.mark.parametrize(
    ("seen", "state", "words"),
    [
        (Seen("2.13.0+cpu", has_distributed=True), "ok", "2.13.0+cpu"),
        (Seen("2.5.0", has_distributed=True), "missing", "use torch 2.7.1 or newer"),
        (Seen("2.13.0", has_distributed=False), "note", "without torch.distributed"),
        (Seen(error="x\nModuleNotFoundError: No module named 'torch'"), "missing", "pip install"),
        (Seen(error="Segmentation fault"), "missing", "python -c 'import torch'"),
    ],
)
def test_torch_is_judged(seen: Seen, state: str, words: str) -> None:
    (finding,) = look_at_torch(CPU, seen)
    assert finding.state == state
    assert words in finding.text + finding.remedy


def test_a_plugin_that_breaks_torch_is_told_apart_from_torch() -> None:
    error = (
        "ImportError: libmccl.so.2: cannot open shared object file\nRuntimeError: Failed to load"
    )
    torch, plugin = look_at_torch(MUSA, Seen("2.7.1", error=error, plugin_breaks_torch=True))
    assert (torch.subject, torch.state) == ("torch", "ok")
    assert (plugin.subject, plugin.state) == ("torch_musa", "missing")
    assert "LD_LIBRARY_PATH" in plugin.remedy
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in plugin.remedy


@pytest.mark.parametrize(
    ("torch", "environ", "words"),
    [
        ("2.13.0+cpu", {}, "built for the CPU alone"),
        ("2.13.0+cu130", {"CUDA_VISIBLE_DEVICES": ""}, "none; CUDA_VISIBLE_DEVICES="),
        ("2.13.0+cu130", {}, "none"),
    ],
)
def test_no_device_is_missing(torch: str, environ: dict[str, str], words: str) -> None:
    (finding,) = look_at_devices(CUDA, Seen(torch, has_distributed=True), environ)
    assert (finding.subject, finding.state) == ("devices", "missing")
    assert words in finding.text
    assert finding.remedy


def test_devices_without_collectives_are_enough_for_one_rank() -> None:
    _, library = look_at_devices(MUSA, attrs.evolve(GOOD, collectives=None), {})
    assert (library.subject, library.state) == ("MCCL", "note")


def test_shared_memory_is_judged_by_what_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert look_at_shared_memory(tmp_path / "nothing").state == "note"
    monkeypatch.setattr("specc.runtime.host.ENOUGH_SHARED_BYTES", 1)
    assert look_at_shared_memory(tmp_path).state == "ok"
    monkeypatch.setattr("specc.runtime.host.ENOUGH_SHARED_BYTES", 2**80)
    assert "--shm-size" in look_at_shared_memory(tmp_path).remedy


def test_a_taken_rendezvous_port_is_a_note() -> None:
    with socket.socket() as listener:
        try:
            listener.bind(("", 29500))
        except OSError:
            pytest.skip("somebody else uses the port")
        listener.listen()
        assert look_at_ports() == Finding(
            "ports",
            "note",
            "29500 is taken",
            "give torchrun another --rdzv-endpoint for several nodes; one node needs none",
        )


def test_a_name_that_leads_nowhere_is_a_note() -> None:
    assert look_at_name("localhost").state == "ok"
    unknown = look_at_name("no-such-machine.invalid")
    assert unknown.state == "note"
    assert "GLOO_SOCKET_IFNAME" in unknown.remedy
    assert "not an address of this machine" in look_at_name("192.0.2.1").text


def test_a_missing_compiler_is_a_note(tmp_path: Path) -> None:
    assert look_at_compiler({"PATH": str(tmp_path)}).state == "note"
    assert "no my-compiler" in look_at_compiler({"PATH": str(tmp_path), "CXX": "my-compiler"}).text


@pytest.mark.parametrize(
    ("version", "state"),
    [((3, 9, 1), "missing"), ((3, 10, 0), "ok"), ((3, 13, 2), "ok"), ((3, 14, 0), "missing")],
)
def test_python_is_judged(version: tuple[int, ...], state: str) -> None:
    assert look_at_python(version).state == state


def test_findings_are_shown_as_text_and_as_json_lines() -> None:
    findings = (Finding("torch", "ok", "2.13.0"), Finding("devices", "missing", "none", "buy one"))
    assert as_text(findings) == (
        "     ok  torch    2.13.0\nMISSING  devices  none\n                  help: buy one"
    )
    assert as_json(findings).splitlines()[0] == (
        '{"subject": "torch", "state": "ok", "text": "2.13.0", "remedy": ""}'
    )
    assert exit_code(findings) == 3
    assert exit_code(findings[:1]) == 0
