"""Given to the interpreter by `fairground sweep`."""

import sys

try:
    from fairground.sweeps.command import main
except ModuleNotFoundError as missing:
    print(f"  x {sys.executable} has no package {missing.name}", file=sys.stderr)
    print(
        "  help: run `pip install '.[sweep]'` in a clone; $FAIRGROUND_PYTHON names another interpreter", file=sys.stderr
    )
    sys.exit(2)

sys.exit(main(sys.argv[1:]))
