/**
 * The interpreter that the Python extension has chosen, by the public part of its API (`environments`). Without that extension, or
 * when it takes too long, there is no answer: the search goes on elsewhere.
 */

import * as vscode from "vscode";

const ID = "ms-python.python";

/** Milliseconds; it may look through the whole machine when it is activated. */
const LIMIT = 5_000;

interface Api {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(
      environment: { readonly path: string },
    ): Promise<{ readonly executable: { readonly uri: vscode.Uri | undefined } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** An absolute path. */
export async function chosenPython(): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), LIMIT);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Calls back whenever another interpreter is chosen there; nothing happens without that extension. */
export function onDidChooseAnother(callback: () => void): vscode.Disposable {
  const extension = vscode.extensions.getExtension<Api>(ID);
  const event = extension?.isActive === true ? extension.exports.environments?.onDidChangeActiveEnvironmentPath : undefined;
  return event?.(callback) ?? new vscode.Disposable(() => undefined);
}

async function ask(): Promise<string | undefined> {
  const environments = (await vscode.extensions.getExtension<Api>(ID)?.activate())?.environments;
  if (environments === undefined) {
    return undefined;
  }
  const resolved = await environments.resolveEnvironment(environments.getActiveEnvironmentPath());
  return resolved?.executable.uri?.fsPath;
}
