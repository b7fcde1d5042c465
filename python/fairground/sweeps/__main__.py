"""``python -m fairground.sweeps``."""

import sys

from .command import main

sys.exit(main())
