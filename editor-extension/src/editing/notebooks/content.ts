/**
 * An open notebook as the text that would be saved now, and the cells that a text stands for. The text is made by VS Code's own
 * extension for Jupyter notebooks, with what it exports for this (`exportNotebook`, which Jupyter's extension uses too).
 */

import * as vscode from "vscode";
import { sourceOf, type Cell, type NewCell, type Step } from "./steps";

export const TYPE = "jupyter-notebook";

/** Not kept in the file: see the serializer's options in VS Code's `extensions/ipynb`. */
const ONLY_SHOWN = { cell: ["breakpointMargin"], document: ["cells"] };

interface Exporting {
  exportNotebook?(data: vscode.NotebookData): Promise<string>;
}

/** The text that these cells would be saved as; undefined where VS Code's own extension does not say. */
export async function textOf(data: vscode.NotebookData): Promise<string | undefined> {
  const known = vscode.extensions.getExtension<Exporting>("vscode.ipynb");
  return known?.isActive === true ? known.exports.exportNotebook?.(data) : undefined;
}

export function dataOf(notebook: vscode.NotebookDocument): vscode.NotebookData {
  const data = new vscode.NotebookData(
    notebook.getCells().map((cell) => {
      const made = new vscode.NotebookCellData(cell.kind, cell.document.getText(), cell.document.languageId);
      made.metadata = without(cell.metadata, ONLY_SHOWN.cell);
      made.outputs = [...cell.outputs];
      return made;
    }),
  );
  data.metadata = without(notebook.metadata, ONLY_SHOWN.document);
  return data;
}

/** The cells after these steps. */
export function after(notebook: vscode.NotebookDocument, steps: readonly Step[]): vscode.NotebookData {
  const data = dataOf(notebook);
  const old = [...data.cells];
  for (const step of [...steps].reverse()) {
    switch (step.kind) {
      case "source":
        data.cells[step.index]!.value = sourceOf(step.cell);
        break;
      case "metadata":
        data.cells[step.index]!.metadata = metadataOf(step.cell);
        break;
      case "replace":
        data.cells.splice(step.start, step.end - step.start, ...step.cells.map((cell) => made(cell, old)));
        break;
      case "document":
        data.metadata = { ...data.metadata, metadata: step.metadata };
    }
  }
  return data;
}

/** The same as an edit of the open notebook, which is one step of its undo. */
export function asEdit(notebook: vscode.NotebookDocument, steps: readonly Step[]): vscode.WorkspaceEdit {
  const edit = new vscode.WorkspaceEdit();
  const old = dataOf(notebook).cells;
  const ofNotebook = steps.flatMap((step): vscode.NotebookEdit[] => {
    switch (step.kind) {
      case "source":
        return [];
      case "metadata":
        return [vscode.NotebookEdit.updateCellMetadata(step.index, { ...notebook.cellAt(step.index).metadata, ...metadataOf(step.cell) })];
      case "replace": {
        const cells = step.cells.map((cell) => made(cell, old));
        return [vscode.NotebookEdit.replaceCells(new vscode.NotebookRange(step.start, step.end), cells)];
      }
      case "document":
        return [vscode.NotebookEdit.updateNotebookMetadata({ ...notebook.metadata, metadata: step.metadata })];
    }
  });
  if (ofNotebook.length > 0) {
    edit.set(notebook.uri, ofNotebook);
  }
  for (const step of steps) {
    if (step.kind === "source") {
      const { document } = notebook.cellAt(step.index);
      edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), sourceOf(step.cell));
    }
  }
  return edit;
}

function made({ cell, outputsOf }: NewCell, old: readonly vscode.NotebookCellData[]): vscode.NotebookCellData {
  const kind = cell.cell_type === "markdown" ? vscode.NotebookCellKind.Markup : vscode.NotebookCellKind.Code;
  const data = new vscode.NotebookCellData(kind, sourceOf(cell), languageOf(cell, old));
  data.metadata = metadataOf(cell);
  data.outputs = outputsOf === undefined ? [] : [...(old[outputsOf]?.outputs ?? [])];
  return data;
}

/** A cell may say its language itself; the others have that of their notebook. */
function languageOf(cell: Cell, old: readonly vscode.NotebookCellData[]): string {
  if (cell.cell_type !== "code") {
    return cell.cell_type;
  }
  const own = (cell.metadata as { vscode?: { languageId?: string } } | undefined)?.vscode?.languageId;
  const others = old.find((one) => one.kind === vscode.NotebookCellKind.Code && one.languageId !== "raw" && !saysLanguage(one));
  return own ?? others?.languageId ?? "python";
}

function saysLanguage(cell: vscode.NotebookCellData): boolean {
  const metadata = cell.metadata?.["metadata"] as { vscode?: { languageId?: string } } | undefined;
  return metadata?.vscode?.languageId !== undefined;
}

/** As VS Code's own extension keeps it beside a cell. */
function metadataOf(cell: Cell): Record<string, unknown> {
  const { id, attachments } = cell;
  return {
    ...(cell.cell_type === "code" ? { execution_count: cell.execution_count ?? null } : {}),
    metadata: cell.metadata ?? {},
    ...(id === undefined ? {} : { id }),
    ...(attachments === undefined ? {} : { attachments }),
  };
}

function without(metadata: Record<string, unknown> | undefined, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(metadata ?? {}).filter(([name]) => !names.includes(name)));
}
