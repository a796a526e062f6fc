/** The command of the server: the one in the settings, or the bundled one with a Python found for it. */

import * as path from "node:path";
import * as vscode from "vscode";
import type { Session } from "../session";
import type { Command } from "./process";
import { candidates } from "./python/candidates";
import { chosenPython } from "./python/extension_api";
import { find, type Found } from "./python/find";
import { thisMachine } from "./python/machine";
import { outside } from "./python/outside";
import { probe, type Python } from "./python/probe";

export type Resolution =
  | { readonly kind: "command"; readonly command: Command; readonly python: Python | undefined }
  | Exclude<Found, { kind: "found" }>;

export async function resolve(session: Session): Promise<Resolution> {
  const { serverPath, python } = session.settings();
  if (serverPath !== "") {
    return { kind: "command", command: { program: serverPath, args: ["lsp"] }, python: undefined };
  }
  const boot = session.context.asAbsolutePath(path.join("bundled", "boot.py"));
  const storage = session.context.globalStorageUri.fsPath;
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  const found = await find({
    setting: python,
    extension: chosenPython,
    outside: (command) => outside(thisMachine, command, folders),
    machine: () => candidates(thisMachine, storage, folders),
    probe: (candidate) => probe(candidate, boot, storage),
    log: (line) => session.log.info(line),
  });
  if (found.kind !== "found") {
    return found;
  }
  session.log.info(`Python ${found.python.version} (${found.from}): ${found.python.executable}`);
  return { kind: "command", command: bundled(found.python, boot, storage), python: found.python };
}

/**
 * -I: neither the workspace nor PYTHON* variables have an effect. Byte code goes to `storage`, because the extension's
 * folder may be read-only.
 */
function bundled(python: Python, boot: string, storage: string): Command {
  const cache = `pycache_prefix=${path.join(storage, "pycache")}`;
  return { program: python.executable, args: ["-I", "-X", cache, boot, "lsp"] };
}
