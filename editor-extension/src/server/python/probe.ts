/** Runs a candidate with `boot.py --probe`, and says in words whether it can run the server. */

import { spawn } from "node:child_process";
import * as vscode from "vscode";
import type { Candidate } from "./candidates";

/** In milliseconds. Generous: the first start of a Python after a reboot, with a virus scanner checking it. */
const LIMIT = 20_000;
const MOST = 64 * 1024;

export interface Python {
  /** The output of boot.py: what Python says about itself. For a virtual environment, about the Python below it. */
  readonly executable: string;
  readonly version: string;
}

export type Probe = { readonly python: Python } | { readonly problem: string };

interface Answer {
  version: string;
  executable: string;
  problem: string | null;
  detail: string | null;
}

/** `boot` is the bundled boot.py; `cwd` must not be the workspace. Never rejects. */
export async function probe(candidate: Candidate, boot: string, cwd: string): Promise<Probe> {
  // -S: the start-up files of a virtual environment are not run, even if it is the workspace's
  const args = [...candidate.args, "-I", "-S", "-B", boot, "--probe"];
  const told = await output(candidate.command, args, cwd);
  if ("problem" in told) {
    return told;
  }
  let answer: Answer;
  try {
    answer = JSON.parse(told.text) as Answer;
  } catch {
    return { problem: vscode.l10n.t("is not a usable Python") };
  }
  if (answer.problem !== null) {
    return { problem: words(answer) };
  }
  return { python: { executable: answer.executable || candidate.command, version: answer.version } };
}

function words({ version, problem, detail }: Answer): string {
  switch (problem) {
    case "version":
      return vscode.l10n.t("is Python {0}; 3.11 to 3.14 are supported", version);
    case "implementation":
      return vscode.l10n.t("is {0}; only CPython is supported", detail ?? "");
    case "free-threaded":
      return vscode.l10n.t("is a free-threaded Python {0}, which the libraries do not support", version);
    default:
      return vscode.l10n.t("is Python {0}, but it cannot load the libraries ({1})", version, detail ?? "");
  }
}

function output(command: string, args: string[], cwd: string): Promise<{ text: string } | { problem: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "ignore"], windowsHide: true });
    let text = "";
    const limit = setTimeout(() => {
      child.kill("SIGKILL");
      resolve({ problem: vscode.l10n.t("did not answer within {0} seconds", LIMIT / 1000) });
    }, LIMIT);
    child.stdout.setEncoding("utf8").on("data", (data: string) => {
      if (text.length < MOST) {
        text += data;
      }
    });
    child.on("error", (error) => {
      clearTimeout(limit);
      resolve({ problem: vscode.l10n.t("cannot be run ({0})", error.message) });
    });
    child.on("close", () => {
      clearTimeout(limit);
      resolve({ text });
    });
  });
}
