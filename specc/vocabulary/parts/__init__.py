"""Parts: submodules with parameters, and parameterless layers of chains."""
