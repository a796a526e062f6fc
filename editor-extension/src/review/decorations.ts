/** Marks hunks under review, and conflicts, in the text and the overview ruler. The editor moves the marks along with typing. */

import * as vscode from "vscode";
import { type Block } from "./block";
import type { Review } from "./state";

type Kind = "added" | "modified" | "removed" | "removedAtEnd" | "conflict";

/** package.json defines the colours of lines and borders (`colors`). Borders show in high contrast themes, where backgrounds do not. */
function styles(): Record<Kind, vscode.TextEditorDecorationType> {
  const line = (ruler: string, border: string, more: vscode.DecorationRenderOptions): vscode.TextEditorDecorationType =>
    vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      overviewRulerLane: vscode.OverviewRulerLane.Right,
      overviewRulerColor: new vscode.ThemeColor(ruler),
      borderStyle: "solid",
      borderColor: new vscode.ThemeColor(border),
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
      ...more,
    });
  const background = (color: string): vscode.DecorationRenderOptions => ({
    backgroundColor: new vscode.ThemeColor(color),
    borderWidth: "1px",
    borderStyle: "dashed",
  });
  const written = background("acpSidecar.review.writtenLineBackground");
  const removed = "acpSidecar.review.removedBorder";
  return {
    added: line("editorGutter.addedBackground", "acpSidecar.review.writtenLineBorder", written),
    modified: line("editorGutter.modifiedBackground", "acpSidecar.review.writtenLineBorder", written),
    removed: line(removed, removed, { borderWidth: "2px 0 0 0" }),
    removedAtEnd: line(removed, removed, { borderWidth: "0 0 2px 0" }),
    conflict: line(
      "editorWarning.foreground",
      "acpSidecar.review.conflictLineBorder",
      background("acpSidecar.review.conflictLineBackground"),
    ),
  };
}

export function decorations(review: Review): vscode.Disposable {
  const types = styles();
  const draw = (editor: vscode.TextEditor): void => {
    if (editor.viewColumn === undefined) {
      return; // inside a diff, which has its own marks
    }
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
