"""What the command prints, for comparison with what Python gives."""


def without_command(text: str) -> list[str]:
    """The lines but that of the command, which Python does not have."""
    return [line for line in text.splitlines() if "command: fairground" not in line and '"command":' not in line]
