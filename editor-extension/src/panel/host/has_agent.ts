/**
 * The context key `acpSidecar.hasAgent`, which ticks a step of the walkthrough. VS Code (1.139) learns of the steps when the walkthrough is first
 * opened, and ticks one whose key becomes true after that; a key that is true already never ticks anything. So it becomes true only then. A
 * tab of the walkthrough's is one of those that the API does not tell apart.
 */

import * as vscode from "vscode";

/** Milliseconds after the opening until VS Code knows the steps. */
const LATER = 1000;

export class HasAgent implements vscode.Disposable {
  private wasOpened = false;
  private timer: NodeJS.Timeout | undefined;
  private readonly opening = vscode.window.tabGroups.onDidChangeTabs(({ opened }) => this.look(opened));

  constructor(private readonly is: () => boolean) {
    this.look(vscode.window.tabGroups.all.flatMap((group) => group.tabs));
  }

  say(): void {
    void vscode.commands.executeCommand("setContext", "acpSidecar.hasAgent", this.wasOpened && this.is());
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.opening.dispose();
  }

  private look(tabs: readonly vscode.Tab[]): void {
    if (!tabs.some((tab) => tab.input === undefined)) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.wasOpened = true;
      this.say();
    }, LATER);
  }
}
