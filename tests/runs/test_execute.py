"""A printed text trains in the ranks of the pool, compiled parts included."""

import pytest

from specc.runtime.pool import JobFailed, Pool

pytestmark = pytest.mark.run

TEXT = '''"""Least squares on every rank's own half."""

import os

import torch
import torch.distributed as dist
from torch import nn

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
STEPS, BACKEND = 6, os.environ.get("COMPILER", "")


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return self.slope * x


def train(model, optimizer, batches, start=0):
    for step in range(start, STEPS):
        x = torch.arange(8.0).chunk(WORLD)[RANK]
        loss = (model(x) - 2 * x).square().sum() / 8
        loss.backward()
        total = loss.detach().clone()
        for value in (total, model.slope.grad):
            dist.all_reduce(value)
        optimizer.step()
        optimizer.zero_grad()
        yield {"step": step, "loss": total}


def main():
    model = Line()
    if BACKEND:
        model.compile(backend=BACKEND, fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for row in train(model, optimizer, None):
        if row["step"] == int(os.environ.get("FAIL_AT", "-1")) and RANK == 1:
            raise FloatingPointError("the loss is not finite")
    dist.barrier()
    dist.destroy_process_group()
'''
JOB = "specc.runtime.execute:train_records"


def test_the_records_do_not_depend_on_the_number_of_ranks(pool: Pool) -> None:
    (alone,) = pool.run(JOB, TEXT, "line", world=1)
    first, second = pool.run(JOB, TEXT, "line", world=2)
    assert first == second
    assert [row["step"] for row in alone] == list(range(6))
    assert [row["loss"] for row in first] == pytest.approx([row["loss"] for row in alone], rel=1e-5)
    assert alone[-1]["loss"] < 0.2 * alone[0]["loss"]


def test_fewer_steps_may_be_asked_for(pool: Pool) -> None:
    (records,) = pool.run(JOB, TEXT, "line", 2, world=1)
    assert [row["step"] for row in records] == [0, 1]


def test_the_text_can_be_compiled(pool: Pool) -> None:
    (plain,) = pool.run(JOB, TEXT, "line", world=1)
    (compiled,) = pool.run(JOB, TEXT, "line", world=1, env={"COMPILER": "eager"})
    assert compiled == plain


def test_a_failure_shows_the_line_of_the_text(pool: Pool) -> None:
    with pytest.raises(JobFailed) as caught:
        pool.run(JOB, TEXT, "line", world=2, env={"FAIL_AT": "2"})
    assert str(caught.value).startswith(
        "rank 1 of 2 failed first: FloatingPointError: the loss is not finite"
    )
    assert (
        'raise FloatingPointError("the loss is not finite")' in caught.value.outcomes[1].traceback
    )
