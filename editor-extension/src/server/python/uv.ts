/** Downloads uv into a folder, and a Python with it. Touches nothing outside the given folders; PATH and registry stay as they are. */

import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import * as readline from "node:readline";
import { unzipSync } from "fflate";
import * as vscode from "vscode";
import type { Wheel } from "./uv_wheels";

/** The version that *Get Python* downloads: the newest that everything is tested with. */
export const PYTHON = "3.13";

/**
 * Extracts `uv` from its wheel into `folder` and returns its absolute path. Throws with a message in words: no network,
 * wrong bytes, no space.
 */
export async function fetchUv(wheel: Wheel, folder: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(wheel.url, { signal });
  if (!response.ok) {
    throw new Error(vscode.l10n.t("{0} answered {1}", new URL(wheel.url).host, response.status));
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (createHash("sha256").update(bytes).digest("hex") !== wheel.sha256) {
    throw new Error(vscode.l10n.t("the download from {0} does not have the expected digest", new URL(wheel.url).host));
  }
  const program = /\.data\/scripts\/(uv(?:\.exe)?)$/;
  const [name, content] = Object.entries(unzipSync(bytes, { filter: (file) => program.test(file.name) }))[0] ?? [];
  if (name === undefined || content === undefined) {
    throw new Error(vscode.l10n.t("{0} does not contain the program", path.posix.basename(wheel.url)));
  }
  await fs.mkdir(folder, { recursive: true });
  const target = path.join(folder, path.posix.basename(name));
  await fs.writeFile(target, content, { mode: 0o755 });
  return target;
}

/** Has uv install a Python into `folder`. Throws with uv's last words. */
export async function installPython(
  uv: string,
  folder: string,
  cwd: string,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const args = ["python", "install", PYTHON, "--install-dir", folder, "--no-bin", "--no-config", "--no-cache", "--color", "never"];
  if (process.platform === "win32") {
    args.push("--no-registry");
  }
  const env = { ...process.env, UV_PYTHON_DOWNLOADS: "manual" };
  const child = spawn(uv, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"], windowsHide: true, signal });
  let last = "";
  readline.createInterface({ input: child.stderr }).on("line", (line) => {
    last = line.trim() === "" ? last : line.trim();
    log(line);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) {
    throw new Error(last === "" ? vscode.l10n.t("exit code {0}", code ?? "?") : last);
  }
}
