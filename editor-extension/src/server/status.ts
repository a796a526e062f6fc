/** The status bar item: the server's state, and a menu of actions. */

import * as vscode from "vscode";
import type { Phase, Supervisor } from "./supervisor";

export function statusBar(supervisor: Supervisor): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("acpSidecar.status", vscode.StatusBarAlignment.Right, 50);
  item.name = vscode.l10n.t("ACP Sidecar");
  item.command = "acpSidecar.menu";
  const show = (phase: Phase): void => {
    const { icon, tooltip, wrong } = look(phase);
    item.text = `${icon} ACP`;
    item.tooltip = tooltip;
    item.accessibilityInformation = { label: tooltip };
    item.backgroundColor = wrong ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
    item.show();
  };
  show(supervisor.phase);
  return vscode.Disposable.from(item, supervisor.onDidChangePhase(show));
}

export interface Look {
  readonly icon: string;
  readonly tooltip: string;
  readonly wrong?: boolean;
}

export function look(phase: Phase): Look {
  switch (phase.kind) {
    case "stopped":
      return { icon: "$(circle-slash)", tooltip: vscode.l10n.t("ACP Sidecar is not running") };
    case "looking":
      return { icon: "$(loading~spin)", tooltip: vscode.l10n.t("ACP Sidecar is looking for a Python") };
    case "starting":
      return { icon: "$(loading~spin)", tooltip: vscode.l10n.t("ACP Sidecar is starting") };
    case "running":
      return {
        icon: "$(hubot)",
        tooltip:
          phase.python === undefined
            ? vscode.l10n.t("ACP Sidecar is running")
            : vscode.l10n.t("ACP Sidecar is running (Python {0})", phase.python.version),
      };
    case "waiting":
      return {
        icon: "$(loading~spin)",
        tooltip: vscode.l10n.t("ACP Sidecar ended ({0}) and is restarting", phase.why),
      };
    case "failed":
      return { icon: "$(error)", tooltip: phase.why, wrong: true };
  }
}
