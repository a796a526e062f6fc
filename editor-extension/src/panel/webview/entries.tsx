/** Renders each kind of entry. */

import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import type { Command, Entry, EntryOf, Location } from "../model";
import { Form } from "./form";
import { readable } from "./markdown";
import { Output } from "./output";
import { Code, Counts, DiffCard, FileButton, Icon, IconButton, Markdown, split, useGrowing } from "./parts";
import { QuestionCard } from "./question";
import { grouped, parentOf, type Row } from "./rows";
import type { Store } from "./store";
import { t } from "./strings";

interface RowProps {
  row: Row;
  store: Store;
  sessionId: string;
  /** Nothing can be undone or sent: a recorded conversation whose agent is gone. */
  recorded: boolean;
}

export const RowView = memo(function RowView({ row, store, sessionId, recorded }: RowProps) {
  const { entry, block, run } = row;
  if (run) return <Run run={run} store={store} sessionId={sessionId} />;
  switch (entry.kind) {
    case "user":
      return <User entry={entry} store={store} sessionId={sessionId} recorded={recorded} />;
    case "agent":
      if (!block) return null;
      if (block.kind === "markdown") return <Markdown source={block.text} store={store} />;
      return (
        <Code
          {...block}
          store={store}
          whole={() => store.blocksOf(entry.id)?.code(block.fence) ?? block.text}
        />
      );
    case "thought":
      return <Thought entry={entry} store={store} />;
    case "image":
      return <img class="picture" src={`data:${entry.mimeType};base64,${entry.data}`} alt={t("Image from the agent")} />;
    case "tool":
      return <Tool entry={entry} below={row.below} store={store} sessionId={sessionId} />;
    case "plan":
      return <Plan entry={entry} />;
    case "question":
      return <QuestionCard entry={entry} store={store} sessionId={sessionId} />;
    case "form":
      return <Form entry={entry} store={store} sessionId={sessionId} />;
    case "notice":
      return <Notice entry={entry} store={store} />;
    case "compaction":
      return <Compaction entry={entry} store={store} />;
    case "end":
      return <End entry={entry} store={store} sessionId={sessionId} />;
  }
});

interface Of<K extends Row["entry"]["kind"]> {
  entry: EntryOf<K>;
  store: Store;
  sessionId: string;
}

function User({ entry, store, sessionId, recorded }: Of<"user"> & { recorded: boolean }) {
  const [editing, setEditing] = useState(false);
  const { turn, undo } = entry;
  return (
    <div class="user" aria-label={t("You")} role="group">
      {editing ? (
        <Edit entry={entry} store={store} sessionId={sessionId} close={() => setEditing(false)} />
      ) : (
        <>
          {entry.attachments.length > 0 && (
            <div class="chips">
              {entry.attachments.map((one) => (
                <span class="chip" key={one.id} title={one.uri}>
                  <Icon name={attachmentIcon(one.kind)} />
                  {one.label}
                </span>
              ))}
            </div>
          )}
          <div class="words">{entry.text}</div>
          <div class="user-actions">
            {undo === "done" && <span class="muted">{t("Undone")}</span>}
            {undo === "working" && <span class="muted">{t("Undoing…")}</span>}
            {undo === "yes" && turn !== undefined && (
              <button class="quiet" onClick={() => store.send({ type: "undoTurn", sessionId, turn })} title={t("Undo everything that the agent changed in this turn")}>
                <Icon name="discard" /> {t("Undo this turn")}
              </button>
            )}
            <span class="grow" />
            <IconButton icon="copy" label={t("Copy message")} onClick={() => store.send({ type: "copy", text: entry.text })} />
            {!recorded && <IconButton icon="edit" label={t("Edit and send again")} onClick={() => setEditing(true)} />}
          </div>
        </>
      )}
    </div>
  );
}

function Edit({ entry, store, sessionId, close }: Of<"user"> & { close: () => void }) {
  const [text, setText] = useState(entry.text);
  const box = useGrowing(text);
  const resend = (undo: boolean) => {
    if (!text.trim()) return;
    store.send({ type: "resend", sessionId, text, undo, ...(entry.turn === undefined ? {} : { turn: entry.turn }) });
    close();
  };
  return (
    <>
      <textarea
        ref={box}
        autoFocus
        value={text}
        aria-label={t("Edit message")}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") close();
        }}
      />
      <div class="buttons">
        {entry.undo === "yes" && (
          <button class="primary" onClick={() => resend(true)}>
            {t("Undo this turn and send")}
          </button>
        )}
        <button class={entry.undo === "yes" ? "" : "primary"} onClick={() => resend(false)}>
          {t("Send")}
        </button>
        <button onClick={close}>{t("Cancel")}</button>
      </div>
    </>
  );
}

function Thought({ entry, store }: { entry: EntryOf<"thought">; store: Store }) {
  const [open, setOpen] = useState(false);
  return (
    <div class="thought">
      <button class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "chevron-down" : "chevron-right"} />
        {entry.done ? t("Thought") : t("Thinking…")}
      </button>
      {open && <Markdown source={entry.text} store={store} />}
    </div>
  );
}

/** How many of a sub-agent's steps are shown at once; of more, the last. */
const SHOWN_BELOW = 200;

const TOOL_ICONS: Readonly<Record<string, string>> = {
  read: "eye",
  edit: "edit",
  delete: "trash",
  move: "arrow-swap",
  search: "search",
  execute: "terminal",
  think: "lightbulb",
  fetch: "globe",
  switch_mode: "settings",
};

/** `below`: all that its sub-agent did and said, and those that it started. */
function Tool({ entry, below = [], store, sessionId }: Of<"tool"> & { below?: readonly Entry[] }) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const text = repeats(entry.text, entry.title) ? "" : entry.text;
  const more = text !== "" || entry.output !== "" || entry.diffs.length > 0 || entry.locations.length > 1;
  const working = entry.status === "in_progress" || entry.status === "pending";
  const open = chosen ?? ((entry.diffs.length > 0 && entry.diffs.length <= 3) || (working && entry.output !== ""));
  const words = { pending: t("waiting"), in_progress: t("running"), completed: t("done"), failed: t("failed"), cancelled: t("stopped") };
  const commands = entry.commands ?? [];
  const last = commands.findLast((one) => one.end && endOf(one.end));
  const only = entry.locations.length === 1 && !entry.diffs.length ? entry.locations[0] : undefined;
  return (
    <div class={`tool ${entry.status}`}>
      <div class="tool-head">
        <button class="fold" aria-expanded={more ? open : undefined} disabled={!more} onClick={() => setChosen(!open)}>
          <Icon name={TOOL_ICONS[entry.toolKind] ?? "tools"} />
          <span class="title">{readable(entry.title, 300) || (entry.name && readable(entry.name, 60)) || t("Tool call")}</span>
        </button>
        {entry.name && entry.title && !says(entry.title, entry.name) && (
          <span class="muted tool-name" title={t("The agent’s name for the tool")}>
            {readable(entry.name, 60)}
          </span>
        )}
        {only &&
          (entry.title.includes(split(only.path).name) ? (
            <IconButton icon="go-to-file" label={t("Open {0}", place(only))} onClick={() => store.send({ type: "openLocation", ...only })} />
          ) : (
            <FileButton path={only.path} line={only.line} onClick={() => store.send({ type: "openLocation", ...only })} />
          ))}
        {last && <span class="muted exit">{endOf(last.end!)}</span>}
        {commands.length > 0 && (
          <span class="actions">
            {commands
              .filter((one) => !one.end)
              .map((one) => (
                <IconButton key={one.id} icon="debug-stop" label={t("Stop this command")} onClick={() => store.send({ type: "stopCommand", sessionId, command: one.id })} />
              ))}
            <IconButton icon="link-external" label={t("Show in a terminal")} onClick={() => store.send({ type: "openTerminal", sessionId, entry: entry.id })} />
          </span>
        )}
        <span class="status" title={words[entry.status]}>
          <span class="sr">{words[entry.status]}</span>
          {working ? <Icon name="loading" spin /> : <Icon name={entry.status === "completed" ? "check" : entry.status === "failed" ? "error" : "circle-slash"} />}
        </span>
      </div>
      {open && (
        <div class="tool-body">
          {entry.diffs.map((diff) => (
            <DiffCard key={diff.index} diff={diff} open onOpen={() => store.send({ type: "openDiff", sessionId, entry: entry.id, index: diff.index })} />
          ))}
          {entry.locations.length > 1 && !entry.diffs.length && (
            <div class="files">
              {entry.locations.map((one, at) => (
                <FileButton key={at} path={one.path} line={one.line} onClick={() => store.send({ type: "openLocation", ...one })} />
              ))}
            </div>
          )}
          {text && <Markdown source={text.slice(0, 20_000)} store={store} />}
          {entry.output && <Output text={entry.output} />}
        </div>
      )}
      {below.length > 0 && <Below parent={entry.id} all={below} store={store} sessionId={sessionId} />}
    </div>
  );
}

/** A sub-agent's work: how many steps, and which one now; what it did and said when unfolded. */
function Below({ parent, all, store, sessionId }: { parent: string; all: readonly Entry[]; store: Store; sessionId: string }) {
  const [open, setOpen] = useState(false);
  const mine = all.filter((one) => parentOf(one) === parent);
  const within = descendants(all, parent);
  const steps = within.filter((one) => one.kind === "tool");
  const working = steps.findLast((one) => one.status === "in_progress" || one.status === "pending");
  const failed = steps.filter((one) => one.status === "failed").length;
  if (mine.length === 0) return null;
  const parts = [steps.length === 1 ? t("Sub-agent: 1 step") : t("Sub-agent: {0} steps", steps.length), ...(failed === 0 ? [] : [t("{0} failed", failed)])];
  const parents = new Set(within.map(parentOf));
  const left = Math.max(0, mine.length - SHOWN_BELOW);
  return (
    <div class="below">
      <button class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "chevron-down" : "chevron-right"} />
        <span class="title">{parts.join(" · ")}</span>
        {working && !open && <span class="muted now">{readable(working.title, 120)}</span>}
      </button>
      {open && (
        <div class="below-body" role="group" aria-label={t("What the sub-agent did")}>
          {left > 0 && <div class="muted">{t("{0} earlier ones are not shown", left)}</div>}
          {grouped(mine.slice(left), { has: (id) => parents.has(id) }).map((one) =>
            Array.isArray(one) ? (
              <Run key={one[0]!.id} run={one} store={store} sessionId={sessionId} />
            ) : one.kind === "tool" ? (
              <Tool key={one.id} entry={one} below={within} store={store} sessionId={sessionId} />
            ) : one.kind === "agent" ? (
              <Markdown key={one.id} source={one.text.slice(0, 20_000)} store={store} />
            ) : one.kind === "thought" ? (
              <Thought key={one.id} entry={one} store={store} />
            ) : null,
          )}
        </div>
      )}
    </div>
  );
}

/** Those below `parent`, and below these. A parent comes before what is below it. */
function descendants(all: readonly Entry[], parent: string): Entry[] {
  const above = new Set([parent]);
  return all.filter((one) => {
    const under = parentOf(one);
    if (under === undefined || !above.has(under)) return false;
    above.add(one.id);
    return true;
  });
}

/** Whether the title has the tool's name in it, as agents write both. */
function says(title: string, name: string): boolean {
  const bare = (one: string): string => one.toLowerCase().replace(/[\s_-]+/g, "");
  return bare(title).includes(bare(name));
}

/** What is to be said of a command's end: nothing where all went well. */
function endOf({ code, signal, stopped }: NonNullable<Command["end"]>): string {
  if (stopped) return t("you stopped it");
  if (signal !== undefined) return t("ended by {0}", readable(signal, 20));
  return code === undefined || code === 0 ? "" : t("exit code {0}", code);
}

/** Reads and searches in a row: one line that says how many, and what is going on now. */
function Run({ run, store, sessionId }: { run: readonly EntryOf<"tool">[]; store: Store; sessionId: string }) {
  const [open, setOpen] = useState(false);
  const reads = run.filter((one) => one.toolKind === "read").length;
  const searches = run.length - reads;
  const failed = run.filter((one) => one.status === "failed").length;
  const working = run.findLast((one) => one.status === "in_progress" || one.status === "pending");
  const parts = [
    ...(reads === 0 ? [] : [reads === 1 ? t("1 read") : t("{0} reads", reads)]),
    ...(searches === 0 ? [] : [searches === 1 ? t("1 search") : t("{0} searches", searches)]),
    ...(failed === 0 ? [] : [t("{0} failed", failed)]),
  ];
  const state = working ? "in_progress" : failed > 0 ? "failed" : "completed";
  return (
    <div class={`tool run ${state}`}>
      <div class="tool-head">
        <button class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name={open ? "chevron-down" : "chevron-right"} />
          <span class="title">{parts.join(" · ")}</span>
          {working && !open && <span class="muted now">{readable(working.title, 120)}</span>}
        </button>
        <span class="status">
          <span class="sr">{working ? t("running") : t("done")}</span>
          {working ? <Icon name="loading" spin /> : <Icon name={failed > 0 ? "error" : "check"} />}
        </span>
      </div>
      {open && (
        <div class="run-body">
          {run.map((one) => (
            <Tool key={one.id} entry={one} store={store} sessionId={sessionId} />
          ))}
        </div>
      )}
    </div>
  );
}

/** Many agents put the command into the title and, as code, into the text too. */
function repeats(text: string, title: string): boolean {
  const bare = (one: string): string => one.replace(/^\s*`{3,}[^\n`]*\n|\n`{3,}\s*$/g, "").replace(/^[\s`$]+|[\s`]+$/g, "");
  return bare(text) === bare(title);
}

/** The file's name and line. Leave it out where the title already contains the name. */
function place({ path, line }: Location): string {
  const { name } = split(readable(path, 1000));
  return line === undefined ? name : `${name}:${line}`;
}

function Plan({ entry }: { entry: EntryOf<"plan"> }) {
  const done = entry.items.filter((one) => one.state === "completed").length;
  const [open, setOpen] = useState(true);
  const words = { pending: t("to do"), in_progress: t("doing"), completed: t("done") };
  return (
    <div class="plan">
      <button class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "chevron-down" : "chevron-right"} />
        {t("Plan: {0} of {1} done", done, entry.items.length)}
      </button>
      {open && (
        <ul>
          {entry.items.map((item, at) => (
            <li key={at} class={item.state}>
              <Icon name={item.state === "completed" ? "pass" : item.state === "in_progress" ? "circle-large-filled" : "circle-large"} />
              <span class="sr">{words[item.state]}</span>
              <span>{item.text}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Notice({ entry, store }: { entry: EntryOf<"notice">; store: Store }) {
  const { action } = entry;
  return (
    <div class={`notice ${entry.level}`}>
      <Icon name={entry.level === "error" ? "error" : entry.level === "warning" ? "warning" : "info"} />
      <span class="words">
        {entry.text}
        {entry.detail && <span class="detail">{entry.detail}</span>}
      </span>
      {action && <button onClick={() => store.send({ type: "action", id: action.id })}>{action.label}</button>}
    </div>
  );
}

function Compaction({ entry, store }: { entry: EntryOf<"compaction">; store: Store }) {
  const [open, setOpen] = useState(false);
  const words = {
    in_progress: t("Compacting the conversation…"),
    completed: t("Conversation compacted"),
    failed: t("The conversation could not be compacted"),
    cancelled: t("Compacting was stopped"),
    other: t("Compaction of the conversation"),
  }[entry.status];
  const icon = entry.status === "in_progress" ? "loading" : entry.status === "failed" ? "warning" : "fold";
  const said = (
    <>
      <Icon name={icon} spin={entry.status === "in_progress"} />
      <span>{words}</span>
    </>
  );
  return (
    <div class={`compaction ${entry.status}`}>
      <div class="compaction-head" title={t("The agent replaced its memory of the messages above with a summary. The conversation here is unchanged.")}>
        {entry.summary ? (
          <button class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
            {said}
            <Icon name={open ? "chevron-down" : "chevron-right"} />
          </button>
        ) : (
          <span class="fold">{said}</span>
        )}
      </div>
      {entry.error && <div class="muted error">{entry.error}</div>}
      {open && entry.summary && <Markdown source={entry.summary.slice(0, 100_000)} store={store} />}
    </div>
  );
}

function End({ entry, store, sessionId }: Of<"end">) {
  const words = {
    end_turn: "",
    cancelled: t("Stopped."),
    max_tokens: t("The agent reached its token limit. Send “continue” to go on."),
    max_turn_requests: t("The agent reached its step limit for one turn. Send “continue” to go on."),
    refusal: t("The agent refused to continue. It no longer remembers your last message."),
    failed: entry.error ?? t("The turn failed."),
    interrupted: t("Interrupted: the editor or the agent ended while this turn ran."),
  }[entry.reason];
  const { turn } = entry;
  const decided = [entry.kept && t("{0} kept", entry.kept), entry.rejected && t("{0} rejected", entry.rejected)].filter(Boolean).join(", ");
  if (!words && !entry.changes.length && !decided) return <div class="end-mark" />;
  return (
    <div class="end">
      {words && (
        <div class={`notice ${entry.reason === "failed" ? "error" : "info"}`}>
          <Icon name={entry.reason === "failed" ? "error" : entry.reason === "cancelled" ? "debug-stop" : "info"} />
          <span class="words">{words}</span>
        </div>
      )}
      {(entry.changes.length > 0 || decided) && (
        <div class="changes">
          <div class="changes-head">
            {entry.changes.length > 0 && (
              <span class="sum">
                {entry.changes.length === 1 ? t("1 file changed") : t("{0} files changed", entry.changes.length)}{" "}
                <Counts
                  added={entry.changes.reduce((sum, one) => sum + one.added, 0)}
                  removed={entry.changes.reduce((sum, one) => sum + one.removed, 0)}
                />
              </span>
            )}
            {decided && (
              <span class="decided muted" title={t("Changes that you kept or rejected")}>
                {decided}
              </span>
            )}
            {turn !== undefined && entry.changes.length > 0 && !entry.reviewed && (
              <span class="verdicts">
                <button class="quiet" onClick={() => store.send({ type: "review", sessionId, turn, verdict: "open" })}>
                  {t("Review")}
                </button>
                <button class="quiet" onClick={() => store.send({ type: "review", sessionId, turn, verdict: "keep" })}>
                  {t("Keep")}
                </button>
                <button class="quiet" onClick={() => store.send({ type: "review", sessionId, turn, verdict: "reject" })}>
                  {t("Reject")}
                </button>
              </span>
            )}
          </div>
          {entry.changes.slice(0, 50).map((one) => (
            <FileButton key={one.uri} path={one.label} onClick={() => store.send({ type: "openFile", uri: one.uri })}>
              <Counts added={one.added} removed={one.removed} />
            </FileButton>
          ))}
        </div>
      )}
    </div>
  );
}

export function attachmentIcon(kind: string): string {
  return (
    { file: "file", folder: "folder", selection: "selection", symbol: "symbol-method", problem: "warning", terminal: "terminal", image: "file-media", conversation: "comment-discussion", changes: "diff-multiple" }[kind] ?? "file"
  );
}
