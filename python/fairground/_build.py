"""Builds one kernel, in a process that can be killed: reads the arguments from standard input, prints the name."""

import json
import sys

from ._fairground import InputError, build_kernel

if __name__ == "__main__":
    try:
        print(json.dumps(build_kernel(**json.load(sys.stdin))[0]))
    except InputError as problem:
        sys.exit(str(problem))
