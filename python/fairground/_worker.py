"""Runs of a kernel's code happen in processes of their own: this interpreter, started anew with this module."""

from ._fairground import serve_worker

serve_worker()
