/** Small components that several others use. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { DiffLine, FileDiff } from "../model";
import { readable, render, renderCode } from "./markdown";
import type { Store } from "./store";
import { t } from "./strings";

export function Icon({ name, spin }: { name: string; spin?: boolean }) {
  return <span class={`codicon codicon-${name}${spin ? " spin" : ""}`} aria-hidden="true" />;
}

interface IconButtonProps {
  icon: string;
  label: string;
  onClick: () => void;
  disabled?: boolean;
  /** Of a button that is on or off. */
  pressed?: boolean;
  class?: string;
}

/** An icon button. Its label is both its name and its tooltip. */
export function IconButton({ icon, label, onClick, disabled, pressed, class: extra }: IconButtonProps) {
  return (
    <button class={`icon ${extra ?? ""}`} title={label} aria-label={label} aria-pressed={pressed} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

/** Sanitised markdown. Clicks on its links go to the extension, which checks and shows where they lead. */
export function Markdown({ source, store }: { source: string; store: Store }) {
  const html = useMemo(() => render(source), [source]);
  return (
    <div
      class="markdown"
      onClick={(event) => follow(event.target, store)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && follow(event.target, store)) event.preventDefault();
      }}
      // render() sanitises
      dangerouslySetInnerHTML={{ __html: html }}
    />
  );
}

function follow(target: EventTarget | null, store: Store): boolean {
  const link = target instanceof Element ? target.closest("a[data-href]") : null;
  const href = link?.getAttribute("data-href");
  if (!href) return false;
  store.send({ type: "openLink", href });
  return true;
}

interface CodeProps {
  text: string;
  language: string;
  first: boolean;
  last: boolean;
  /** The whole text, of which `text` may be a part. */
  whole: () => string;
  store: Store;
}

export function Code({ text, language, first, last, whole, store }: CodeProps) {
  const html = useMemo(() => renderCode(text, language), [text, language]);
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <div class={`code ${first ? "first" : ""} ${last ? "last" : ""}`}>
      {first && (
        <div class="code-head">
          <span class="language">{language || t("text")}</span>
          <IconButton icon="insert" label={t("Insert at cursor")} onClick={() => store.send({ type: "insert", text: whole() })} />
          <IconButton
            icon={copied ? "check" : "copy"}
            label={copied ? t("Copied") : t("Copy code")}
            onClick={() => {
              store.send({ type: "copy", text: whole() });
              setCopied(true);
            }}
          />
        </div>
      )}
      <pre tabIndex={0} aria-label={t("Code")}>
        <code dangerouslySetInnerHTML={{ __html: html || " " }} />
      </pre>
    </div>
  );
}

export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="counts">
      <span class="added" aria-label={t("{0} lines added", added)}>
        +{added}
      </span>{" "}
      <span class="removed" aria-label={t("{0} lines removed", removed)}>
        −{removed}
      </span>
    </span>
  );
}

export function DiffLines({ lines, more }: { lines: DiffLine[]; more: number }) {
  return (
    <div class="diff" tabIndex={0} role="region" aria-label={t("Changed lines")}>
      {lines.map((line, at) => (
        <div key={at} class={line.mark === "+" ? "plus" : line.mark === "-" ? "minus" : line.mark === "@" ? "gap" : ""}>
          <span class="mark">{line.mark === "@" ? "⋯" : line.mark === "-" ? "−" : line.mark}</span>
          {line.text}
        </div>
      ))}
      {more > 0 && <div class="gap">{t("{0} more lines", more)}</div>}
    </div>
  );
}

/** A file as a button: its name, then its folder. The tooltip is the whole path. */
export function FileButton({ path, line, onClick, children }: { path: string; line?: number | undefined; onClick: () => void; children?: ComponentChildren }) {
  const { name, folder } = split(readable(path, 1000));
  return (
    <button class="file" title={readable(line ? `${path}:${line}` : path, 1000)} onClick={onClick}>
      <span class="name">
        {name}
        {line ? `:${line}` : ""}
      </span>
      {folder && <span class="folder">{folder}</span>}
      {children}
    </button>
  );
}

export function split(path: string): { name: string; folder: string } {
  const parts = path.split(/[\\/]/).filter(Boolean);
  return { name: parts.at(-1) ?? path, folder: parts.slice(-3, -1).join("/") };
}

export function DiffCard({ diff, open, onOpen }: { diff: FileDiff; open: boolean; onOpen: () => void }) {
  return (
    <div class="diff-card">
      <FileButton path={diff.path} onClick={onOpen}>
        {diff.created && <span class="tag">{t("new")}</span>}
        <Counts added={diff.added} removed={diff.removed} />
      </FileButton>
      {open && <DiffLines lines={diff.lines} more={diff.more} />}
    </div>
  );
}

/** The height follows the text, up to the limit in the style sheet. */
export function useGrowing(text: string) {
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight + 2}px`;
  }, [text]);
  return box;
}
