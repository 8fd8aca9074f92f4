"""Writes down what a training did: a line of JSON a step, and now and then one for people."""

import json
import re
import time
from pathlib import Path


class Log:
    """Called with the record of each step; rank 0 writes.

    Tensors of a record are read only when a line is due: without `path` the device is waited for
    only every `every` steps. `step_s` is the time since the record before, so waiting for data,
    compiling and saving count.

    Args:
        path: file to which each record is appended as one line of JSON; None for none. Lines of a
            second training into the same file have `restart` 1, of a third 2, and so on.
        every: steps between the lines for people.
        warmup: steps that the summary leaves out of its speed.
    """

    def __init__(self, rank: int, path: str | None, every: int, warmup: int = 0) -> None:
        self.rank, self.every, self.warmup = rank, every, warmup
        self.file = Path(path) if path and rank == 0 else None
        self.restart = count_runs(self.file) if self.file else 0
        self.steps = self.talked_steps = 0
        self.recorded = self.talked = self.warm = time.perf_counter()

    def __call__(self, row: dict) -> None:
        """Write a record: step, loss, grad_norm, lr, tokens or samples, and what else there is."""
        self.steps += 1
        self.row = row
        talks, warm = row["step"] % self.every == 0, self.steps == self.warmup
        if self.rank != 0 or not (self.file or talks or warm):
            return
        values = {k: v if isinstance(v, int | str) else float(v) for k, v in row.items()}
        now = time.perf_counter()  # after the values: reading them waits for the device
        if self.file:
            record = {**values, "step_s": now - self.recorded}
            if self.restart:
                record["restart"] = self.restart
            # Unbuffered and appending: a line is one write, so no reader sees half of one.
            with self.file.open("ab", buffering=0) as file:
                file.write(json.dumps(record).encode() + b"\n")
            self.recorded = now
        if talks:
            seconds = (now - self.talked) / (self.steps - self.talked_steps)
            print(f"step {row['step']:,}: {figures(values)}, {speed(values, seconds)}", flush=True)
            self.talked, self.talked_steps = now, self.steps
        if warm:
            self.warm = now

    def summary(self) -> None:
        """Print the last loss and the speed after the first `warmup` steps; call it at the end."""
        if self.rank != 0 or not self.steps:
            return
        line = f"{self.steps:,} steps, loss {float(self.row['loss']):.4f}"  # waits for the device
        if timed := max(0, self.steps - self.warmup):
            seconds = (time.perf_counter() - self.warm) / timed
            line += f"; {seconds:.3g} s a step, {speed(self.row, seconds)} in the last {timed:,}"
        print(line, flush=True)


def count_runs(path: Path) -> int:
    """How many trainings have written to `path`, which is made if it is not there.

    Exits with a message if it cannot be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            file.seek(0)
            text = file.read()
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}, so no record can be written") from None
    restarts = re.findall(rb'"restart": (\d+)', text)
    return int(restarts[-1]) + 1 if restarts else int(bool(text))


def figures(row: dict) -> str:
    """The figures of a record that people follow."""
    forms = {
        "loss": "loss {:.4f}",
        "held_out_loss": "held out {:.4f}",
        "grad_norm": "norm {:.3f}",
        "lr": "lr {:.2e}",
    }
    return ", ".join(form.format(row[name]) for name, form in forms.items() if name in row)


def speed(row: dict, seconds: float) -> str:
    """Tokens, or samples, in a second."""
    unit = "tokens" if "tokens" in row else "samples"
    return f"{row[unit] / seconds:,.0f} {unit}/s"
