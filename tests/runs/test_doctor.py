"""Doctor looks at this machine, and at one whose installation is broken."""

from pathlib import Path

import pytest

from specc.runtime.doctor import examine
from specc.runtime.findings import as_text, exit_code

pytestmark = pytest.mark.run


def test_this_machine_can_train_on_its_cpu() -> None:
    findings = examine("cpu")
    assert exit_code(findings) == 0, as_text(findings)
    assert {"Python", "torch", "ports", "shared memory", "C++ compiler"} <= {
        finding.subject for finding in findings
    }


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("target", "subject"), [("musa", "torch_musa"), ("cpu", "plugin of torch")]
)
def test_an_entry_point_left_behind_is_explained(
    target: str, subject: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`import torch` fails where torch_musa was removed but its entry point was not."""
    folder = tmp_path / "torch_musa-2.9.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_musa\nVersion: 2.9.0\n")
    (folder / "entry_points.txt").write_text(
        "[torch.backends]\ntorch_musa = torch_musa:_autoload\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    findings = {finding.subject: finding for finding in examine(target)}
    assert findings["torch"].state == "ok"
    assert "only if it loads no plugin by itself" in findings["torch"].text
    assert findings[subject].state == "missing"
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in findings[subject].remedy
