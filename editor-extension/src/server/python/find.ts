/** Finds a Python that can run the server: setting → Python extension → PATH, launcher, known folders → none. */

import * as vscode from "vscode";
import type { Candidate } from "./candidates";
import type { Probe, Python } from "./probe";

export type Found =
  | { readonly kind: "found"; readonly python: Python; readonly from: Candidate["from"] }
  /** The Python that the user named cannot be used. Silently using another one would not be what the user asked for. */
  | { readonly kind: "wrong setting"; readonly message: string }
  | { readonly kind: "none"; readonly message: string };

export interface Sources {
  /** `acpSidecar.python`; "" if it is not set. */
  readonly setting: string;
  /** The choice of the Python extension; asked only if the setting is empty. */
  readonly extension: () => Promise<string | undefined>;
  /** Evaluated only if neither of the others gives an answer. */
  readonly machine: () => readonly Candidate[];
  /** See outside.ts. */
  readonly outside: (command: string) => string | undefined;
  readonly probe: (candidate: Candidate) => Promise<Probe>;
  readonly log: (line: string) => void;
}

export async function find(sources: Sources): Promise<Found> {
  if (sources.setting !== "") {
    const candidate: Candidate = { command: sources.setting, args: [], from: "setting" };
    const result = await probe(sources, candidate);
    if ("python" in result) {
      return { kind: "found", python: result.python, from: "setting" };
    }
    const message = vscode.l10n.t(
      "{0}, from the setting acpSidecar.python, {1}. Change or clear the setting.",
      sources.setting,
      result.problem,
    );
    return { kind: "wrong setting", message };
  }
  const rejected: string[] = [];
  const attempt = async (candidate: Candidate): Promise<Found | undefined> => {
    const result = await probe(sources, candidate);
    if ("python" in result) {
      return { kind: "found", python: result.python, from: candidate.from };
    }
    const line = `${[candidate.command, ...candidate.args].join(" ")} ${result.problem}`;
    sources.log(line);
    rejected.push(line);
    return undefined;
  };
  const chosen = await sources.extension();
  if (chosen !== undefined) {
    const found = await attempt({ command: chosen, args: [], from: "python extension" });
    if (found !== undefined) {
      return found;
    }
  }
  for (const candidate of sources.machine()) {
    const found = await attempt(candidate);
    if (found !== undefined) {
      return found;
    }
  }
  const first = rejected[0];
  const message =
    first === undefined
      ? vscode.l10n.t("acp-sidecar needs Python 3.11 to 3.14, but none was found on this machine.")
      : vscode.l10n.t("acp-sidecar needs Python 3.11 to 3.14, but none was found on this machine: {0}.", first);
  return { kind: "none", message };
}

/** What runs is outside of the open folders, and so is the Python that it says it is. */
async function probe(sources: Sources, candidate: Candidate): Promise<Probe> {
  const problem = vscode.l10n.t("is in the open folder, so the repository could decide what it does");
  const command = sources.outside(candidate.command);
  if (command === undefined) {
    return { problem };
  }
  const result = await sources.probe({ ...candidate, command });
  return "python" in result && sources.outside(result.python.executable) !== result.python.executable ? { problem } : result;
}
