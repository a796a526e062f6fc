/**
 * The interpreter that is selected in the Python extension, from the public part of its API (`environments`). Without
 * that extension, or if it takes too long, there is no answer and the search continues elsewhere.
 */

import * as vscode from "vscode";

const ID = "ms-python.python";

/** In milliseconds. On activation it may search the whole machine. */
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

/** Calls back whenever another interpreter is selected there. Does nothing without that extension. */
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
