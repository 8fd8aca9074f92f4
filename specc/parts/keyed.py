"""Random numbers named by a key, so that the same key means the same numbers on every rank."""

import hashlib

import torch


def key_number(*key: object) -> int:
    """A number in [0, 2**63) that depends on every word of `key` and on nothing else."""
    digest = hashlib.blake2b("/".join(map(str, key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def keyed_generator(*key: object) -> torch.Generator:
    """A generator on the CPU that starts where `key` says."""
    return torch.Generator().manual_seed(key_number(*key))
