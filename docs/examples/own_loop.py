"""A loop of one's own over a spec's sharded model, optimizer and data.

    torchrun --nproc-per-node=2 docs/examples/own_loop.py specs/quickstart/quickstart.spec --steps
    20

The spec says model, sharding, precision, optimizer and data; everything in the loop is yours.
"""

import argparse

import torch
import torch.distributed as dist
import torch.nn.functional as F

import specc


def main() -> None:
    """Train for some steps and print the loss of the first rank."""
    parser = argparse.ArgumentParser()
    parser.add_argument("spec")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()

    spec = specc.load(args.spec, overrides=args.set)
    with spec.build() as training:  # joins torchrun's ranks, or the process group there is
        model, optimizer = training.model, training.optimizer
        batches = training.batches()  # this rank's rows of every global batch
        for step in range(args.steps):
            ids, labels = next(batches)
            logits = model(ids)
            # A mean on each rank: FSDP2 averages gradients, so this is the mean of the whole batch.
            loss = F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())
            loss.backward()
            training.sum_gradients()  # over the ranks of a tensor rule, if the spec has one
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            if dist.get_rank() == 0:
                print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
