"""A rank that the launch tests start: `python -m tests.runs.worker WHAT [RANK]`."""

import sys

from specc.runtime.execute import train_text

TEXT = '''"""A tiny training that can be told to go wrong."""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
WHAT, WHO = os.environ["WHAT"], int(os.environ["WHO"])
DEVICE, STEPS = "cpu", 5


def misbehave(step):
    if step != 2 or RANK != WHO:
        return
    if WHAT == "raise":
        raise ValueError("five does not divide 64")
    if WHAT == "refuse":
        raise SystemExit("tiny needs 16 ranks, not 2")
    if WHAT == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if WHAT == "hang":
        time.sleep(1000)


def train(model, optimizer, batches, start=0):
    for step in range(start, STEPS):
        misbehave(step)
        total = torch.ones(())
        if WORLD > 1:
            dist.all_reduce(total)
        yield {"step": step, "loss": total}


@record
def main():
    if WORLD > 1:
        dist.init_process_group("gloo")
    for row in train(None, None, None):
        print(f"rank {RANK}: step {row['step']}, {row['loss'].item():.0f} ranks", flush=True)
    print("threads", os.environ.get("OMP_NUM_THREADS"), "extra", os.environ.get("EXTRA"))
    if WORLD > 1:
        dist.barrier()
        dist.destroy_process_group()
'''

if __name__ == "__main__":
    what, who = sys.argv[1], sys.argv[2]
    sys.exit(train_text(TEXT, "tiny", env={"WHAT": what, "WHO": who}))
