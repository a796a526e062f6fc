/** The view "Agent Changes", next to the views of source control. */

import * as vscode from "vscode";
import { children, look, type Node, roots } from "./tree";
import { commands, pathOf, type Review } from "./state";

export function view(review: Review): vscode.Disposable {
  const moved = new vscode.EventEmitter<void>();
  const shown = vscode.window.createTreeView<Node>("acpSidecar.changes", {
    showCollapseAll: true,
    treeDataProvider: {
      onDidChangeTreeData: moved.event,
      getChildren: (node) => (node === undefined ? roots(review.model, review.conflicts) : children(node)),
      getTreeItem: item,
    },
  });
  const refresh = (): void => {
    moved.fire();
    const waiting = review.model.size + review.conflicts.all.length;
    shown.badge = waiting === 0 ? undefined : { value: waiting, tooltip: vscode.l10n.t("{0} changes of agents to review", waiting) };
  };
  refresh();
  return vscode.Disposable.from(moved, shown, review.model.onDidChange(refresh), review.conflicts.onDidChange(refresh));
}

function item(node: Node): vscode.TreeItem {
  const { id, label, description, accessible, icon, uri, state } = look(node, pathOf);
  const states = {
    expanded: vscode.TreeItemCollapsibleState.Expanded,
    collapsed: vscode.TreeItemCollapsibleState.Collapsed,
    leaf: vscode.TreeItemCollapsibleState.None,
  };
  const made = new vscode.TreeItem(label, states[state]);
  made.id = id;
  made.description = description;
  made.tooltip = accessible;
  made.accessibilityInformation = { label: accessible };
  made.contextValue = node.kind;
  if (uri !== undefined) {
    made.resourceUri = vscode.Uri.parse(uri);
    made.iconPath = vscode.ThemeIcon.File;
  } else if (icon !== undefined) {
    made.iconPath = new vscode.ThemeIcon(icon);
  }
  if (node.kind === "block") {
    made.command = { title: vscode.l10n.t("Show"), command: commands.show, arguments: [node.block] };
  } else if (node.kind === "conflict") {
    made.command = { title: vscode.l10n.t("Compare"), command: commands.compare, arguments: [node] };
  }
  return made;
}
