"""The processes that run on Windows, as `processes.of_windows` takes them. Command lines of other programs are read from the kernel, as Windows' own
tools do.
"""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from collections.abc import Iterator
from ctypes import wintypes

_PROCESSES = 0x00000002
"""TH32CS_SNAPPROCESS"""
_QUERY_LIMITED = 0x1000
"""PROCESS_QUERY_LIMITED_INFORMATION: given for every process of the same user."""
_COMMAND_LINE = 60
"""ProcessCommandLineInformation of NtQueryInformationProcess, since Windows 8.1: a UNICODE_STRING followed by its text."""
_LONGEST = 64 * 1024 + 64
"""In bytes: a command line has at most 32,767 code units."""
_INVALID = ctypes.c_void_p(-1).value


class _Entry(ctypes.Structure):
    _fields_ = (
        ("dwSize", wintypes.DWORD),
        ("cntUsage", wintypes.DWORD),
        ("th32ProcessID", wintypes.DWORD),
        ("th32DefaultHeapID", ctypes.c_size_t),
        ("th32ModuleID", wintypes.DWORD),
        ("cntThreads", wintypes.DWORD),
        ("th32ParentProcessID", wintypes.DWORD),
        ("pcPriClassBase", wintypes.LONG),
        ("dwFlags", wintypes.DWORD),
        ("szExeFile", wintypes.WCHAR * 260),
    )


class _UnicodeString(ctypes.Structure):
    _fields_ = (
        ("Length", wintypes.USHORT),
        ("MaximumLength", wintypes.USHORT),
        ("Buffer", ctypes.c_void_p),
    )


def rows() -> Iterator[tuple[int, int, int, str]]:
    """Yield process id, parent's id, start time (FILETIME), and command line or, failing that, the program's name. Other users' processes are left out."""
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateToolhelp32Snapshot.restype = wintypes.HANDLE
    kernel.OpenProcess.restype = wintypes.HANDLE
    handle = kernel.CreateToolhelp32Snapshot(_PROCESSES, 0)
    if handle in (None, _INVALID):
        return
    snapshot = wintypes.HANDLE(handle)
    try:
        entry = _Entry(ctypes.sizeof(_Entry))
        more = kernel.Process32FirstW(snapshot, ctypes.byref(entry))
        while more:
            pid = int(entry.th32ProcessID)
            process = wintypes.HANDLE(kernel.OpenProcess(_QUERY_LIMITED, False, pid))
            if process:
                try:
                    began = _began(kernel, process)
                    if began is not None:
                        line = _command_line(process) or str(entry.szExeFile)
                        yield pid, int(entry.th32ParentProcessID), began, line
                finally:
                    kernel.CloseHandle(process)
            more = kernel.Process32NextW(snapshot, ctypes.byref(entry))
    finally:
        kernel.CloseHandle(snapshot)


def _began(kernel: ctypes.WinDLL, process: wintypes.HANDLE) -> int | None:
    """Return the start time, or None if the process has ended."""
    times = [wintypes.FILETIME() for _ in range(4)]  # creation, exit, kernel, user
    if not kernel.GetProcessTimes(process, *map(ctypes.byref, times)):
        return None
    began, ended = ((one.dwHighDateTime << 32) + one.dwLowDateTime for one in times[:2])
    return None if ended else began


def _command_line(process: wintypes.HANDLE) -> str:
    """Return the command line, or "" if it cannot be read."""
    buffer = ctypes.create_string_buffer(_LONGEST)
    size = wintypes.ULONG()
    query = ctypes.WinDLL("ntdll").NtQueryInformationProcess
    if query(process, _COMMAND_LINE, buffer, _LONGEST, ctypes.byref(size)):
        return ""
    text = _UnicodeString.from_buffer(buffer)
    return ctypes.wstring_at(text.Buffer, text.Length // 2) if text.Buffer else ""
