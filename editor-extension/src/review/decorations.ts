/** Hunks under review, and conflicts, in the text and in the overview ruler. The editor moves them along with typing. */

import * as vscode from "vscode";
import { type Block } from "./block";
import type { Review } from "./state";

type Kind = "added" | "modified" | "removed" | "removedAtEnd" | "conflict";

/** Colours with a border in high contrast come from the theme by package.json (`colors`). */
function styles(): Record<Kind, vscode.TextEditorDecorationType> {
  const line = (color: string, ruler: string, more: vscode.DecorationRenderOptions): vscode.TextEditorDecorationType =>
    vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      overviewRulerLane: vscode.OverviewRulerLane.Right,
      overviewRulerColor: new vscode.ThemeColor(ruler),
      borderStyle: "solid",
      borderColor: new vscode.ThemeColor(color),
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
      ...more,
    });
  const written = (color: string, ruler: string): vscode.TextEditorDecorationType =>
    line(color, ruler, {
      backgroundColor: new vscode.ThemeColor("acpSidecar.review.writtenLineBackground"),
      borderWidth: "0 0 0 3px",
    });
  return {
    added: written("acpSidecar.review.addedBorder", "acpSidecar.review.addedBorder"),
    modified: written("acpSidecar.review.modifiedBorder", "acpSidecar.review.modifiedBorder"),
    removed: line("acpSidecar.review.removedBorder", "acpSidecar.review.removedBorder", { borderWidth: "2px 0 0 0" }),
    removedAtEnd: line("acpSidecar.review.removedBorder", "acpSidecar.review.removedBorder", { borderWidth: "0 0 2px 0" }),
    conflict: line("acpSidecar.review.conflictBorder", "acpSidecar.review.conflictBorder", {
      backgroundColor: new vscode.ThemeColor("acpSidecar.review.conflictLineBackground"),
      borderWidth: "0 0 0 3px",
    }),
  };
}

export function decorations(review: Review): vscode.Disposable {
  const types = styles();
  const draw = (editor: vscode.TextEditor): void => {
    const uri = editor.document.uri.toString();
    const ranges: Record<Kind, vscode.Range[]> = { added: [], modified: [], removed: [], removedAtEnd: [], conflict: [] };
    for (const block of review.model.blocks(uri)) {
      const [kind, range] = placed(block, editor.document.lineCount);
      ranges[kind].push(range);
    }
    for (const conflict of review.conflicts.of(uri)) {
      for (const { range } of conflict.hunks) {
        const last = Math.max(range.start.line, range.end.line - (range.end.character === 0 ? 1 : 0));
        ranges.conflict.push(new vscode.Range(range.start.line, 0, last, 0));
      }
    }
    for (const kind of Object.keys(types) as Kind[]) {
      editor.setDecorations(types[kind], ranges[kind]);
    }
  };
  const redraw = (uris?: readonly string[]): void => {
    for (const editor of vscode.window.visibleTextEditors) {
      if (uris === undefined || uris.includes(editor.document.uri.toString())) {
        draw(editor);
      }
    }
  };
  redraw();
  return vscode.Disposable.from(
    ...Object.values(types),
    review.model.onDidChange(redraw),
    review.conflicts.onDidChange(redraw),
    vscode.window.onDidChangeVisibleTextEditors(() => redraw()),
  );
}

function placed(block: Block, lineCount: number): [Kind, vscode.Range] {
  if (block.end > block.line) {
    const last = Math.min(block.end, lineCount) - 1;
    return [block.removed > 0 ? "modified" : "added", new vscode.Range(block.line, 0, Math.max(block.line, last), 0)];
  }
  const atEnd = block.line >= lineCount;
  const line = Math.min(block.line, lineCount - 1);
  return [atEnd ? "removedAtEnd" : "removed", new vscode.Range(line, 0, line, 0)];
}
