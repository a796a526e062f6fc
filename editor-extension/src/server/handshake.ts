/** Checks whether this extension was made for the server that answered. */

import * as vscode from "vscode";
import type { InitializeResult } from "vscode-languageclient/node";

const NAME = "acp-sidecar";

/** A sentence for the user, or undefined if the versions fit. Before 1.0, minor versions may be incompatible (semver). */
export function mismatch(told: InitializeResult["serverInfo"], own: string, command: string): string | undefined {
  if (told?.name !== NAME) {
    return vscode.l10n.t("{0} is not acp-sidecar. Check the setting acpSidecar.serverPath.", command);
  }
  const version = told.version ?? "?";
  if (compatible(version) === compatible(own)) {
    return undefined;
  }
  return vscode.l10n.t(
    "{0} is acp-sidecar {1}, but this extension needs {2}. Update the older one, or clear the setting acpSidecar.serverPath to use the bundled server.",
    command,
    version,
    own,
  );
}

function compatible(version: string): string {
  const [major = "", minor = ""] = version.split(".");
  return major === "0" ? `${major}.${minor}` : major;
}
