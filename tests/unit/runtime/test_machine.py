"""More ranks than the machine can hold are refused with the way out."""

import pytest

from specc.runtime.machine import GIB, Machine, local_machine, why_not

LAPTOP = Machine("CPU cores", 2, 8, 16 * GIB, shares_memory=True)
NODE = Machine("GPUs", 8, 8, 48 * GIB, shares_memory=False)


@pytest.mark.parametrize(
    ("ranks", "rank_bytes", "machine"),
    [
        (1, None, LAPTOP),
        (8, 2 * GIB, LAPTOP),
        (8, 48 * GIB, NODE),
        (1, 10**15, Machine("GPUs", 1, 1, None, shares_memory=False)),
    ],
)
def test_what_fits_is_allowed(ranks: int, rank_bytes: int | None, machine: Machine) -> None:
    assert why_not(ranks, rank_bytes, machine) is None


@pytest.mark.parametrize(
    ("ranks", "rank_bytes", "machine", "reason"),
    [
        (16, None, LAPTOP, "16 ranks; here 2 CPU cores, for 8 ranks: "),
        (16, None, NODE, "16 ranks; here 8 GPUs: "),
        (2, None, Machine("GPUs", 0, 0, None, shares_memory=False), "2 ranks; here 0 GPUs: "),
        (8, 2 * GIB + 1, LAPTOP, "8 ranks need 16.0 GiB, 16.0 GiB are free here: "),
        (8, 50 * GIB, NODE, "one rank needs 50.0 GiB, 48.0 GiB are on a device: "),
    ],
)
def test_what_does_not_fit_is_refused_with_the_way_out(
    ranks: int, rank_bytes: int | None, machine: Machine, reason: str
) -> None:
    refusal = why_not(ranks, rank_bytes, machine)
    assert refusal is not None
    assert refusal.startswith(reason)
    assert refusal.endswith("try `--profile smoke`, or `--emit script` for a machine that can")


def test_this_machine_has_cores_and_memory() -> None:
    machine = local_machine("cpu")
    assert machine.devices >= 1
    assert machine.memory_bytes is not None
    assert machine.memory_bytes > 0
