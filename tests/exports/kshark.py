"""Loads a file as KernelShark does, with its library: the name of each event, one a line.

    tests/exports/kshark.py FILE
"""

import ctypes
import ctypes.util
import sys


def load(path):
    library = ctypes.CDLL("libkshark.so.2")
    library.kshark_instance.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
    library.kshark_instance.restype = ctypes.c_bool
    library.kshark_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.kshark_load_entries.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)]
    library.kshark_load_entries.restype = ctypes.c_ssize_t
    library.kshark_get_event_name.argtypes = [ctypes.c_void_p]
    library.kshark_get_event_name.restype = ctypes.c_char_p
    context, rows = ctypes.c_void_p(), ctypes.c_void_p()
    if not library.kshark_instance(ctypes.byref(context)):
        sys.exit("no context")
    stream = library.kshark_open(context, path.encode())
    if stream < 0:
        sys.exit(f"it does not open: {stream}")
    count = library.kshark_load_entries(context, stream, ctypes.byref(rows))
    if count < 0:
        sys.exit(f"it does not load: {count}")
    entries = ctypes.cast(rows, ctypes.POINTER(ctypes.c_void_p * count)).contents
    return [library.kshark_get_event_name(entry).decode() for entry in entries]


for name in load(sys.argv[1]):
    # With its system before it.
    print(name.rpartition("/")[2])
