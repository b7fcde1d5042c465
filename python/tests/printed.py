"""What the command prints, for comparison with what Python gives."""


def without_command(text: str) -> list[str]:
    """The lines but those that only the command has: itself, and what its options would add."""
    own = "command: fairground", '"command":', "--legend says"
    return [line for line in text.splitlines() if not any(words in line for words in own)]
