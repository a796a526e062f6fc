/**
 * The places where a Python may be, in the order in which they are tried. Nothing is run here. Leaves out what only
 * looks like a Python: the Microsoft Store's stubs open the store, and macOS's stub opens a dialog. Leaves out programs
 * in the workspace, because they belong to the repository.
 */

import * as path from "node:path";
import { outside } from "./outside";

/** The questions to the machine; tests supply their own. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Whether a file (or a link to one) exists. */
  isFile(name: string): boolean;
  /** Where a name leads when every link is followed; undefined if it leads nowhere. */
  realPath(name: string): string | undefined;
  /** The names in a folder; none if it does not exist. */
  list(folder: string): string[];
}

export interface Candidate {
  /** An absolute path. */
  readonly command: string;
  /** Arguments before Python's own, such as `-3` of Windows' launcher. */
  readonly args: readonly string[];
  /** Where it was found, for the log. */
  readonly from: "setting" | "python extension" | "fetched" | "PATH" | "launcher" | "folder";
}

/** Newest first: the versions that the bundled libraries exist for. Tests compare it with boot.py and the build. */
export const VERSIONS = ["3.14", "3.13", "3.12", "3.11"] as const;

/** Where *Get Python* puts a Python, below the extension's own storage. */
export const FETCHED = "python";

/**
 * All candidates except the setting and the Python extension. `storage` is the extension's own folder. Nothing inside
 * the `workspace` folders is taken.
 */
export function candidates(machine: Machine, storage: string, workspace: readonly string[]): Candidate[] {
  const seen = new Set<string>();
  const found: Candidate[] = [];
  const paths = machine.platform === "win32" ? path.win32 : path.posix;
  const add = (from: Candidate["from"], command: string, args: readonly string[] = []): void => {
    const key = [machine.platform === "win32" ? command.toLowerCase() : command, ...args].join("\0");
    if (seen.has(key) || !paths.isAbsolute(command) || isStub(machine, command) || outside(machine, command, workspace) !== command) {
      return;
    }
    seen.add(key);
    if (machine.isFile(command)) {
      found.push({ command, args, from });
    }
  };
  const windows = machine.platform === "win32";
  for (const name of names(windows)) {
    for (const folder of onPath(machine)) {
      add("PATH", paths.join(folder, name));
    }
  }
  if (windows) {
    for (const folder of [...onPath(machine), machine.env["SystemRoot"] ?? "C:\\Windows"]) {
      add("launcher", paths.join(folder, "py.exe"), ["-3"]);
    }
  }
  for (const command of fetched(machine, storage)) {
    add("fetched", command);
  }
  for (const command of windows ? inWindowsFolders(machine) : inUnixFolders(machine)) {
    add("folder", command);
  }
  return found;
}

/** Pythons that *Get Python* downloaded. */
export function fetched(machine: Machine, storage: string): string[] {
  const paths = machine.platform === "win32" ? path.win32 : path.posix;
  const folder = paths.join(storage, FETCHED);
  return newestFirst(machine.list(folder)).map((name) => ofInstallation(machine, paths.join(folder, name)));
}

/** Whether running it would open the Microsoft Store or macOS's "install developer tools?", or whether it links to such a program. */
export function isStub(machine: Machine, command: string): boolean {
  switch (machine.platform) {
    case "win32":
      return /\\Microsoft\\WindowsApps\\/i.test(command);
    case "darwin":
      // if Apple's Python is installed, it is currently too old (3.9)
      return /^\/usr\/bin\/(python|pip)/.test(command);
    default:
      return false;
  }
}

function names(windows: boolean): string[] {
  return windows ? ["python.exe", "python3.exe"] : ["python3", ...VERSIONS.map((version) => `python${version}`), "python"];
}

/** The absolute folders in PATH. A relative one means a different folder in each process. */
function onPath(machine: Machine): string[] {
  const windows = machine.platform === "win32";
  const value = windows ? (machine.env["Path"] ?? machine.env["PATH"]) : machine.env["PATH"];
  const paths = windows ? path.win32 : path.posix;
  return (value ?? "").split(paths.delimiter).filter((folder) => paths.isAbsolute(folder));
}

function ofInstallation(machine: Machine, folder: string): string {
  return machine.platform === "win32" ? path.win32.join(folder, "python.exe") : path.posix.join(folder, "bin", "python3");
}

function inUnixFolders(machine: Machine): string[] {
  const { home, env } = machine;
  const join = (...parts: string[]) => path.posix.join(...parts);
  const programs = ["/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", join(home, ".local/bin")];
  const installations = [
    join(env["UV_PYTHON_INSTALL_DIR"] ?? join(env["XDG_DATA_HOME"] ?? join(home, ".local/share"), "uv/python")),
    join(env["PYENV_ROOT"] ?? join(home, ".pyenv"), "versions"),
    join(home, ".local/share/mise/installs/python"),
    join(home, ".asdf/installs/python"),
    "/Library/Frameworks/Python.framework/Versions",
  ];
  const single = ["miniconda3", "anaconda3", "miniforge3"].map((name) => join(home, name));
  return [
    ...programs.flatMap((folder) => VERSIONS.map((version) => join(folder, `python${version}`))),
    ...installations.flatMap((folder) => newestFirst(machine.list(folder)).map((name) => join(folder, name))).map((each) =>
      ofInstallation(machine, each),
    ),
    ...single.map((folder) => ofInstallation(machine, folder)),
  ];
}

function inWindowsFolders(machine: Machine): string[] {
  const { home, env } = machine;
  const join = (...parts: string[]) => path.win32.join(...parts);
  const roaming = env["APPDATA"] ?? join(home, "AppData", "Roaming");
  const local = env["LOCALAPPDATA"] ?? join(home, "AppData", "Local");
  const folders = [join(local, "Programs", "Python"), env["ProgramFiles"] ?? "C:\\Program Files", join(roaming, "uv", "python"), "C:\\"];
  const single = ["miniconda3", "anaconda3", "miniforge3"].map((name) => join(home, name));
  return [
    ...folders.flatMap((folder) =>
      newestFirst(machine.list(folder).filter((name) => /^(c?python)-?3/i.test(name))).map((name) => join(folder, name)),
    ),
    ...single,
  ].map((folder) => ofInstallation(machine, folder));
}

/** "3.9" < "3.14": numbers are compared as numbers. */
function newestFirst(names: readonly string[]): string[] {
  return [...names].sort((one, other) => other.localeCompare(one, "en", { numeric: true }));
}
