import assert from "node:assert/strict";
import * as path from "node:path";
import { test } from "node:test";
import { candidates, type Machine } from "../../../src/server/python/candidates";

/** A machine that has these files and nothing else. */
function machine(platform: NodeJS.Platform, env: Record<string, string>, files: string[]): Machine {
  const paths = platform === "win32" ? path.win32 : path.posix;
  const inside = (folder: string) =>
    files.filter((file) => file.startsWith(folder + paths.sep)).map((file) => file.slice(folder.length + 1).split(paths.sep)[0]!);
  return {
    platform,
    env,
    home: platform === "win32" ? "C:\\Users\\me" : "/home/me",
    realPath: (name) => name,
    isFile: (name) => files.includes(name),
    list: (folder) => [...new Set(inside(folder))],
  };
}

interface Case {
  name: string;
  platform: NodeJS.Platform;
  env?: Record<string, string>;
  files: string[];
  workspace?: string[];
  expected: string[];
}

const CASES: Case[] = [
  {
    name: "PATH in its order, then known folders, nothing twice",
    platform: "linux",
    env: { PATH: "/usr/local/bin:/usr/bin" },
    files: ["/usr/bin/python3", "/usr/bin/python3.12", "/opt/homebrew/bin/python3.13"],
    expected: ["/usr/bin/python3", "/usr/bin/python3.12", "/opt/homebrew/bin/python3.13"],
  },
  {
    name: "a relative or empty folder of PATH is another one in every process",
    platform: "linux",
    env: { PATH: ".::bin:/usr/bin" },
    files: ["bin/python3", "python3", "/usr/bin/python3"],
    expected: ["/usr/bin/python3"],
  },
  {
    name: "what lies in the workspace is the repository's",
    platform: "linux",
    env: { PATH: "/ws/.venv/bin:/ws-tools/bin" },
    files: ["/ws/.venv/bin/python3", "/ws-tools/bin/python3"],
    workspace: ["/ws"],
    expected: ["/ws-tools/bin/python3"],
  },
  {
    name: "version managers' own, the newest first by number",
    platform: "linux",
    files: ["3.9.18", "3.11.7", "3.12.10", "3.12.9"].map((version) => `/home/me/.pyenv/versions/${version}/bin/python3`),
    expected: ["3.12.10", "3.12.9", "3.11.7", "3.9.18"].map((version) => `/home/me/.pyenv/versions/${version}/bin/python3`),
  },
  {
    name: "uv's, where uv was told to put them",
    platform: "linux",
    env: { UV_PYTHON_INSTALL_DIR: "/data/pythons" },
    files: ["/data/pythons/cpython-3.13.1-linux/bin/python3"],
    expected: ["/data/pythons/cpython-3.13.1-linux/bin/python3"],
  },
  {
    name: "what Get Python fetched",
    platform: "linux",
    files: ["/storage/python/cpython-3.13.1-linux/bin/python3"],
    expected: ["/storage/python/cpython-3.13.1-linux/bin/python3"],
  },
  {
    name: "macOS: Apple's stubs are never run",
    platform: "darwin",
    env: { PATH: "/usr/bin:/opt/homebrew/bin" },
    files: ["/usr/bin/python3", "/opt/homebrew/bin/python3"],
    expected: ["/opt/homebrew/bin/python3"],
  },
  {
    name: "macOS: the installer of python.org",
    platform: "darwin",
    files: ["/Library/Frameworks/Python.framework/Versions/3.12/bin/python3"],
    expected: ["/Library/Frameworks/Python.framework/Versions/3.12/bin/python3"],
  },
  {
    name: "Windows: the store's stubs are never run, the launcher is asked for Python 3",
    platform: "win32",
    env: { Path: "C:\\Users\\me\\AppData\\Local\\Microsoft\\WindowsApps;D:\\py", SystemRoot: "C:\\Windows" },
    files: [
      "C:\\Users\\me\\AppData\\Local\\Microsoft\\WindowsApps\\python.exe",
      "C:\\Users\\me\\AppData\\Local\\Microsoft\\WindowsApps\\python3.exe",
      "D:\\py\\python.exe",
      "C:\\Windows\\py.exe",
    ],
    expected: ["D:\\py\\python.exe", "C:\\Windows\\py.exe -3"],
  },
  {
    name: "Windows: the installer's folders, for one user and for all",
    platform: "win32",
    env: { ProgramFiles: "C:\\Program Files" },
    files: [
      "C:\\Users\\me\\AppData\\Local\\Programs\\Python\\Python39\\python.exe",
      "C:\\Users\\me\\AppData\\Local\\Programs\\Python\\Python312\\python.exe",
      "C:\\Program Files\\Python313\\python.exe",
      "C:\\Program Files\\Git\\python.exe",
    ],
    expected: [
      "C:\\Users\\me\\AppData\\Local\\Programs\\Python\\Python312\\python.exe",
      "C:\\Users\\me\\AppData\\Local\\Programs\\Python\\Python39\\python.exe",
      "C:\\Program Files\\Python313\\python.exe",
    ],
  },
  {
    name: "Windows: the same program in other letters is the same program",
    platform: "win32",
    env: { Path: "D:\\Py;D:\\PY" },
    files: ["D:\\Py\\python.exe", "D:\\PY\\python.exe"],
    expected: ["D:\\Py\\python.exe"],
  },
  { name: "nothing anywhere", platform: "linux", env: { PATH: "/usr/bin" }, files: [], expected: [] },
];

for (const { name, platform, env, files, workspace, expected } of CASES) {
  test(`candidates: ${name}`, () => {
    const storage = platform === "win32" ? "C:\\storage" : "/storage";
    const found = candidates(machine(platform, env ?? {}, files), storage, workspace ?? []);
    assert.deepEqual(
      found.map(({ command, args }) => [command, ...args].join(" ")),
      expected,
    );
  });
}
