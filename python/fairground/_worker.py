"""A worker process, which runs a kernel's code: another process of this interpreter, with this module."""

from ._fairground import serve_worker

serve_worker()
