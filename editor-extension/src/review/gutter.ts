/**
 * Bars in the gutter, each of which opens the editor's own peek with the removed lines, and Keep and Reject in its
 * title. Only a source control can have them, so there is one for each folder with agents' changes under review; it
 * lists their files. Users' git keeps its own bars beside these. Where both changed the same lines, VS Code (1.139)
 * shows the agent's change if its source control has a folder and came last, but git's where the user has added lines
 * above; a list in the title leads to the other. So package.json puts Keep and Reject into git's peek, too.
 */

import * as vscode from "vscode";
import { commands, pathOf, type Review } from "./state";
import { beforeUri } from "./texts";

const SETTING = "acpSidecar.review.gutter";

export function gutter(review: Review): vscode.Disposable {
  /** By folder; "" for files in none. */
  const controls = new Map<string, Control>();
  const refresh = (): void => {
    const wanted = new Map<string, string[]>();
    if (vscode.workspace.getConfiguration().get<boolean>(SETTING, true)) {
      for (const uri of review.model.uris) {
        const root = rootOf(uri)?.toString() ?? "";
        wanted.set(root, [...(wanted.get(root) ?? []), uri]);
      }
    }
    for (const [root, control] of controls) {
      if (!wanted.has(root)) {
        control.dispose();
        controls.delete(root);
      }
    }
    for (const [root, uris] of wanted) {
      const control = controls.get(root) ?? new Control(review, root === "" ? undefined : vscode.Uri.parse(root));
      controls.set(root, control);
      control.refresh(uris);
    }
  };
  refresh();
  return vscode.Disposable.from(
    review.model.onDidChange(refresh),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(SETTING)) {
        refresh();
      }
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(refresh),
    new vscode.Disposable(() => controls.forEach((control) => control.dispose())),
  );
}

function rootOf(uri: string): vscode.Uri | undefined {
  return vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri))?.uri;
}

class Control {
  private readonly control: vscode.SourceControl;
  private readonly group: vscode.SourceControlResourceGroup;
  private uris: readonly string[] = [];

  constructor(review: Review, root: vscode.Uri | undefined) {
    this.control = vscode.scm.createSourceControl("acpSidecar", vscode.l10n.t("Agent Changes"), root);
    this.group = this.control.createResourceGroup("review", vscode.l10n.t("To review"));
    this.control.inputBox.visible = false;
    this.control.count = 0; // the view of agents' changes has the badge
    this.control.quickDiffProvider = {
      provideOriginalResource: (uri) =>
        this.uris.includes(uri.toString()) && review.model.of(uri.toString()).length > 0 ? beforeUri({ uri: uri.toString() }) : undefined,
    };
  }

  refresh(uris: readonly string[]): void {
    if (JSON.stringify(uris) === JSON.stringify(this.uris)) {
      return;
    }
    this.uris = uris;
    // The editor asks the provider again when a source control's files change.
    this.group.resourceStates = uris.map((uri) => ({
      resourceUri: vscode.Uri.parse(uri),
      command: { title: vscode.l10n.t("Open Diff"), command: commands.openDiff, arguments: [{ uri }] },
      decorations: { tooltip: pathOf(uri) },
    }));
  }

  dispose(): void {
    this.control.dispose();
  }
}
