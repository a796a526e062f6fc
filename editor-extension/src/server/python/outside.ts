/** Which program is run for a candidate: never one that lies in an open folder, where the repository decides what it does. */

import * as path from "node:path";
import type { Machine } from "./candidates";

/**
 * What to run for `command`: itself, if neither its name nor what the name leads to lies in one of the `folders`. A link in a folder to
 * a program elsewhere (a virtual environment's Python) stands for that program: run by the link's name, a Python would take its
 * libraries from where the folder's `pyvenv.cfg` says. `undefined`: there is nothing outside to run.
 */
export function outside(machine: Machine, command: string, folders: readonly string[]): string | undefined {
  const paths = machine.platform === "win32" ? path.win32 : path.posix;
  const real = (name: string) => machine.realPath(name) ?? name;
  const closed = [...folders, ...folders.map(real)];
  const isClosed = (name: string) => closed.some((folder) => isBeneath(paths, name, folder));
  const program = real(command);
  if (isClosed(program)) {
    return undefined;
  }
  const byFolder = paths.join(real(paths.dirname(command)), paths.basename(command));
  return isClosed(command) || isClosed(byFolder) ? program : command;
}

function isBeneath(paths: path.PlatformPath, name: string, folder: string): boolean {
  const way = paths.relative(folder, name);
  return way !== "" && way !== ".." && !way.startsWith(`..${paths.sep}`) && !paths.isAbsolute(way);
}
