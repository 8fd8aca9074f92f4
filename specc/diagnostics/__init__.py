"""What specc says about a spec: diagnostics with places, notes and ways out."""

from specc.diagnostics.diagnostic import (
    Diagnostic,
    Edit,
    Help,
    Label,
    Report,
    SpeccError,
    nearest,
)

__all__ = ["Diagnostic", "Edit", "Help", "Label", "Report", "SpeccError", "nearest"]
