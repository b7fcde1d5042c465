"""Given to the interpreter by `fairground sweep`, and by commands with `--dask`."""

import os
import sys

try:
    from fairground.sweeps.command import main
    if sys.argv[1:2] == ["--columns"]:
        from fairground.sweeps.farm.columns import make_columns
    from fairground.sweeps.spec import CODE
except ModuleNotFoundError as missing:
    print(f"  x {sys.executable} has no package {missing.name}", file=sys.stderr)
    print(
        "  help: run `pip install 'FILE.whl[sweep]'` with the wheel of a release, or `pip install '.[sweep]'` in a clone; "
        "$FAIRGROUND_PYTHON names another interpreter. Without --dask reviews need no Python, and grids none but for --report and Parquet",
        file=sys.stderr,
    )
    sys.exit(2)

# A sweep's own program: figures are those of the package, which may have been built of other sources.
command = os.environ.pop("FAIRGROUND_STUDY_CODE", CODE)
if command != CODE:
    print(
        f"warning: the package of {sys.executable} has code {CODE[:12]}, this command has code {command[:12]}: the runs are the "
        "package's, and may differ from those of `fairground run`",
        file=sys.stderr,
    )

if sys.argv[1:2] == ["--columns"]:
    sys.exit(make_columns(sys.argv[2]))
sys.exit(main(sys.argv[1:]))
