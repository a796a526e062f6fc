/**
 * *Get Python*: downloads a Python through uv, after the user agreed to size and source. Nothing else in this extension
 * uses the network.
 */

import { randomUUID } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Session } from "../../session";
import { FETCHED, isStub } from "./candidates";
import { thisMachine } from "./machine";
import { fetchUv, installPython, PYTHON } from "./uv";
import { UV_VERSION, UV_WHEELS, type Wheel } from "./uv_wheels";

/** Asks, downloads, and calls `then` when there is a Python. */
export async function offerPython(session: Session, then: () => Promise<void>): Promise<void> {
  const there = installedUv();
  const wheel = UV_WHEELS[target()];
  if (there === undefined && wheel === undefined) {
    await tell(session, vscode.l10n.t("uv is not available for this kind of machine ({0})", target()));
    return;
  }
  const agree = vscode.l10n.t("Download");
  const asked = vscode.l10n.t("Download Python {0} for ACP Sidecar?", PYTHON);
  const folder = path.join(session.context.globalStorageUri.fsPath, FETCHED);
  if ((await vscode.window.showInformationMessage(asked, { modal: true, detail: detail(there, folder) }, agree)) !== agree) {
    return;
  }
  const failure = await vscode.window.withProgress(
    {
      location: vscode.ProgressLocation.Notification,
      title: vscode.l10n.t("Downloading Python {0}", PYTHON),
      cancellable: true,
    },
    async (_progress, token) => {
      const stop = new AbortController();
      token.onCancellationRequested(() => stop.abort());
      try {
        await get(session, there ?? wheel!, folder, stop.signal);
        return undefined;
      } catch (error) {
        return stop.signal.aborted ? "" : reason(error);
      }
    },
  );
  if (failure === undefined) {
    await then();
  } else if (failure !== "") {
    await tell(session, failure);
  }
}

async function get(session: Session, uv: string | Wheel, folder: string, signal: AbortSignal): Promise<void> {
  const storage = session.context.globalStorageUri.fsPath;
  const temporary = path.join(storage, `uv-${randomUUID()}`);
  await fs.mkdir(temporary, { recursive: true });
  try {
    const program = typeof uv === "string" ? uv : await fetchUv(uv, temporary, signal);
    await installPython(program, folder, temporary, (line) => session.log.info(`uv: ${line}`), signal);
  } finally {
    await fs.rm(temporary, { recursive: true, force: true });
  }
}

function detail(uv: string | undefined, folder: string): string {
  const python = vscode.l10n.t(
    "The download is about 35 MB (100 MB on disk) from releases.astral.sh, Astral's builds of Python. It goes to {0}. Nothing else on this machine changes.",
    folder,
  );
  const by =
    uv === undefined
      ? vscode.l10n.t("uv {0} does this. It is about 20 MB, is downloaded first from PyPI (files.pythonhosted.org), and is removed afterwards.", UV_VERSION)
      : vscode.l10n.t("{0} does this.", uv);
  return `${python}\n\n${by}`;
}

/** The absolute path of a uv on PATH. */
function installedUv(): string | undefined {
  const name = process.platform === "win32" ? "uv.exe" : "uv";
  const folders = (process.env["PATH"] ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find((each) => thisMachine.isFile(each) && !isStub(thisMachine, each));
}

function target(): string {
  const alpine = process.platform === "linux" && thisMachine.isFile("/etc/alpine-release");
  return `${alpine ? "alpine" : process.platform}-${process.arch}`;
}

async function tell(session: Session, why: string): Promise<void> {
  const sentence = vscode.l10n.t(
    "Python could not be downloaded: {0}. Install Python 3.11 or newer yourself, then run “ACP Sidecar: Restart Server”.",
    why,
  );
  session.log.error(sentence);
  const log = vscode.l10n.t("Show Log");
  if ((await vscode.window.showErrorMessage(sentence, log)) === log) {
    session.log.show();
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  // fetch says "fetch failed" and has the reason in its cause
  return error.cause instanceof Error ? error.cause.message : error.message;
}
