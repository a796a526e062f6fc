/** Saving, reloading, unopened files, and files that text sync does not reach. */

import * as vscode from "vscode";
import type { ClientFlags } from "../lsp_ext";
import type { Session } from "../session";

export const flags: Partial<ClientFlags> = {};

export function register(_session: Session): vscode.Disposable {
  return new vscode.Disposable(() => undefined);
}
