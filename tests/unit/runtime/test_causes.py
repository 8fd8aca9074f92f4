"""A rank that lost a peer is told from the rank that failed by itself."""

import pytest

from specc.runtime.causes import is_consequence


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: [pair.cc:537] Read error [127.0.0.1]:6804: Connection reset by peer",
        "RuntimeError: [pair.cc:547] Connection closed by peer [127.0.0.1]:6804",
        "RuntimeError: Gloo connectFullMesh failed with timed out connecting: SO_ERROR",
        "RuntimeError: SO_ERROR: Connection refused, remote=[127.0.0.1]:18342",
        "DistStoreError: wait timeout after 60000ms, keys: /default_pg/0",
        "RuntimeError: Timed out waiting 60000ms for recv operation to complete",
        "DistNetworkError: failed to recv, got 0 bytes. Connection was likely closed",
    ],
)
def test_a_lost_peer_is_a_consequence(error: str) -> None:
    assert is_consequence(error)


@pytest.mark.parametrize(
    "error",
    [
        "ValueError: five does not divide 64",
        "KeyError: 'peer'",
        "FileNotFoundError: data/books-*.bin",
        "torch.OutOfMemoryError: CUDA out of memory",
        "tiny needs 16 ranks, torchrun started 8",
    ],
)
def test_an_error_of_its_own_is_a_cause(error: str) -> None:
    assert not is_consequence(error)
