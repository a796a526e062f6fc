"""Edits at a file's end, for real and fake editors: name → (the file, the agent's text)."""

FILE_ENDS = {
    "last-line": ("one\ntwo\nthree\n", "one\ntwo\n"),
    "last-two": ("one\ntwo\nthree\n", "one\n"),
    "last-many": ("".join(f"{n}\n" for n in range(9)), "0\n1\n"),
    "all-but-a-blank": ("one\n\n\n", "one\n"),
    "all": ("one\ntwo\nthree\n", ""),
    "append": ("one\ntwo\n", "one\ntwo\nthree\n"),
    "append-many": ("one\ntwo\n", "one\ntwo\n\n\nthree\nfour\n"),
    "last-and-first": ("one\ntwo\nthree\n", "ONE\ntwo\n"),
    "last-changed": ("one\ntwo\nthree\n", "one\ntwo\nTHREE\n"),
    "twins": ("x\nx\nx\n", "x\nx\n"),
    "blank-lines": ("one\n\n\n\n", "one\n\n\n"),
    "crlf-last-line": ("one\r\ntwo\r\nthree\r\n", "one\r\ntwo\r\n"),
    "crlf-append": ("one\r\ntwo\r\n", "one\r\ntwo\r\nthree\r\n"),
    "no-end-last-line": ("one\ntwo\nthree", "one\ntwo"),
    "no-end-last-two": ("one\ntwo\nthree", "one"),
    "no-end-append": ("one\ntwo", "one\ntwo\nthree"),
    "no-end-append-ended": ("one\ntwo", "one\ntwo\nthree\n"),
    "no-end-all": ("one\ntwo", ""),
    "end-taken": ("one\ntwo\n", "one\ntwo"),
    "end-added": ("one\ntwo", "one\ntwo\n"),
}
