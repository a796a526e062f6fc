"""An agent that gives its stdin and stdout away, over the Unix socket named on its command line, and ends with that."""

import socket
import sys

with socket.socket(socket.AF_UNIX) as there:
    there.connect(sys.argv[1])
    socket.send_fds(there, [b"here"], [0, 1])
    there.recv(1)
