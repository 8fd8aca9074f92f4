"""Judges the machine itself: memory, shared memory, ports, names, compiler."""

import shutil
import socket
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from specc.runtime.findings import Finding
from specc.runtime.machine import GIB, local_machine
from specc.runtime.symptoms import explain

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  it is looked at, nothing is written
ENOUGH_SHARED_BYTES = 2**30  # containers start with 64 MiB, which loaders and collectives fill
RENDEZVOUS_PORT = 29500  # torchrun's, for several nodes


def look_at_host(environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """What every training needs of the machine, whatever the device."""
    return (
        look_at_cpu(),
        look_at_shared_memory(SHARED_MEMORY),
        look_at_ports(),
        look_at_name(socket.gethostname()),
        look_at_compiler(environ),
        look_at_plot(),
    )


def look_at_cpu() -> Finding:
    """Cores and free memory."""
    machine = local_machine("cpu")
    memory = machine.memory_bytes
    free = "" if memory is None else f", {memory / GIB:.1f} GiB free"
    return Finding("CPU", "ok", f"{machine.devices} cores{free}")


def look_at_shared_memory(folder: Path) -> Finding:
    """Whether data loaders and collectives of one machine have room to exchange data."""
    if not folder.is_dir():
        return Finding("shared memory", "note", f"there is no {folder}", "mount a tmpfs there")
    free = shutil.disk_usage(folder).free
    text = f"{free / GIB:.2f} GiB free in {folder}"
    if free >= ENOUGH_SHARED_BYTES:
        return Finding("shared memory", "ok", text)
    return Finding("shared memory", "note", text, "start the container with --shm-size=8g or more")


def look_at_ports() -> Finding:
    """Whether ranks can listen, and whether torchrun's own port is free."""
    if not _can_listen("localhost", 0):
        text = "nothing can listen on localhost"
        return Finding("ports", "missing", text, "check /etc/hosts and the sandbox of this process")
    if not _can_listen("", RENDEZVOUS_PORT):
        remedy = "give torchrun another --rdzv-endpoint for several nodes; one node needs none"
        return Finding("ports", "note", f"{RENDEZVOUS_PORT} is taken", remedy)
    return Finding("ports", "ok", f"localhost, and {RENDEZVOUS_PORT} for several nodes")


def look_at_name(name: str) -> Finding:
    """Whether the machine's name leads to an address of this machine, as CPU collectives need."""
    try:
        addresses = {str(found[4][0]) for found in socket.getaddrinfo(name, None, socket.AF_INET)}
    except OSError as error:
        symptom = explain(f"{error}", "cpu")
        remedy = symptom.remedy if symptom else "add the name to /etc/hosts"
        return Finding("host name", "note", f"{name} cannot be resolved: {error}", remedy)
    text = f"{name} is {', '.join(sorted(addresses))}"
    if any(_can_listen(address, 0) for address in addresses):
        return Finding("host name", "ok", text)
    remedy = "correct /etc/hosts: ranks could not reach each other at that address"
    return Finding("host name", "note", f"{text}, which is not an address of this machine", remedy)


def look_at_compiler(environ: Mapping[str, str]) -> Finding:
    """The C++ compiler that torch.compile uses."""
    wanted = [environ["CXX"]] if environ.get("CXX") else ["g++", "clang++"]
    for name in wanted:
        program = shutil.which(name, path=environ.get("PATH"))
        if program and (version := _first_line([program, "--version"])):
            return Finding("C++ compiler", "ok", version)
    text = f"no {' or '.join(wanted)}, so specs with `compile` rules cannot run"
    return Finding("C++ compiler", "note", text, "install g++, or set CXX")


def look_at_plot() -> Finding:
    """The package that draws loss curves."""
    if find_spec("matplotlib") is None:
        return Finding("plots", "note", "no matplotlib", 'pip install "specc[plot]"')
    return Finding("plots", "ok", "matplotlib")


def _can_listen(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()
        except OSError:
            return False
    return True


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.splitlines()
    return lines[0] if done.returncode == 0 and lines else ""
