/** The prompt box: text, attachments, completion of `@` and `/`, history, queue, pickers, send and stop. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Attachment, Current, Overview, Picker, Slash } from "../model";
import type { Candidate } from "../protocol";
import { attachmentIcon } from "./entries";
import { Icon, IconButton, useGrowing } from "./parts";
import { added, merged, type Store } from "./store";
import { t } from "./strings";

/** The largest picture, in bytes. */
const IMAGE_LIMIT = 5 << 20;
/** The most pictures in one message. */
const IMAGES_AT_MOST = 8;
/** The most files that are taken from one drop. */
const DROPPED_AT_MOST = 64;
/** The number of candidate requests so far, over all prompt boxes of this page. Answers are matched by it. */
let requests = 0;

interface Props {
  store: Store;
  overview: Overview;
  current: Current | undefined;
  /** The agent for a new session. */
  agent: string | undefined;
}

interface Menu {
  kind: "mention" | "slash";
  /** The offsets in the text that a choice replaces (UTF-16 units from 0). */
  from: number;
  to: number;
  query: string;
}

export function Prompt({ store, overview, current, agent }: Props) {
  const [text, setText] = useState(store.box.text);
  const [attachments, setAttachments] = useState<Attachment[]>(store.box.attachments);
  const [menu, setMenu] = useState<Menu | null>(null);
  const [chosen, setChosen] = useState(0);
  const [past, setPast] = useState<{ at: number; own: string } | null>(null);
  /** Why something was not pasted. */
  const [refused, setRefused] = useState("");
  /** Escape was pressed once: the next one stops the turn. */
  const [stopping, setStopping] = useState(false);
  const [dragged, setDragged] = useState(false);
  const request = useRef(0);
  const box = useGrowing(text);
  const compose = store.compose;

  useLayoutEffect(() => {
    store.box = { text, attachments };
  }, [text, attachments]);

  // Not in an effect, which runs after the frame is painted: the user may have typed by then, and a draft would replace that
  useLayoutEffect(() => {
    if (!compose || compose.serial === store.composed) return;
    store.composed = compose.serial;
    setText((before) => (compose.replace ? compose.text : added(before, compose.text)));
    setAttachments((before) => (compose.replace ? compose.attachments : merged(before, compose.attachments)));
    if (compose.focus) box.current?.focus();
  }, [compose?.serial]);

  // Each key at once: the page may be removed at any time
  useLayoutEffect(() => {
    if (!compose) return; // nothing was restored yet, and an empty box must not overwrite the draft
    store.send({ type: "draft", key: overview.draftKey, text, attachments: attachments.filter((one) => one.kind !== "image") });
  }, [text, attachments]);

  const candidates = useMemo((): Candidate[] => {
    if (!menu) return [];
    if (menu.kind === "mention") return store.candidates.request === request.current ? store.candidates.candidates : [];
    return commandsLike(current?.slashes ?? [], menu.query)
      .slice(0, 50)
      .map((one) => ({ label: `/${one.name}`, detail: one.description, icon: "terminal", insert: `/${one.name} ` }));
  }, [menu, store.candidates, current?.slashes]);

  const running = current?.state === "running" || current?.state === "waiting";
  const blocked = current?.recorded ?? false;
  const ready = overview.connected;

  // Not in an effect, as above: who has read "Press Escape again" is heard
  useLayoutEffect(() => {
    if (!running || !current || current.stopping) return setStopping(false);
    const { sessionId } = current;
    const onEscape = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return stopping ? setStopping(false) : undefined;
      // Escape closes menus and leaves forms and messages that are being edited
      if (event.defaultPrevented || event.isComposing || (event.target !== box.current && editable(event.target))) return;
      event.preventDefault();
      setStopping(!stopping);
      if (stopping) store.send({ type: "stop", sessionId });
    };
    window.addEventListener("keydown", onEscape);
    return () => window.removeEventListener("keydown", onEscape);
  }, [running, current?.sessionId, current?.stopping, stopping]);

  const look = (words: string, caret: number) => {
    const next = menuAt(words, caret, (current?.slashes.length ?? 0) > 0);
    setMenu(next);
    setChosen(0);
    if (next?.kind === "mention") {
      requests += 1;
      request.current = requests;
      store.send({ type: "complete", request: requests, query: next.query });
    }
  };
  const take = (candidate: Candidate) => {
    if (!menu) return;
    const next = text.slice(0, menu.from) + candidate.insert + text.slice(menu.to);
    const caret = menu.from + candidate.insert.length;
    if (box.current) {
      // at once, not at the next render: text typed until then would land before it or be torn apart
      box.current.value = next;
      box.current.focus();
      box.current.setSelectionRange(caret, caret);
    }
    setText(next);
    if (candidate.attachments) setAttachments(merged(attachments, candidate.attachments));
    setMenu(null);
  };
  const send = () => {
    if (!text.trim() || !ready || blocked) return;
    if (!current && agent === undefined) return store.askForAgent(text, attachments);
    store.sendMessage(text, attachments);
    setText("");
    setAttachments([]);
    setMenu(null);
    setPast(null);
  };
  const walk = (by: number): boolean => {
    const history = overview.history;
    const at = (past?.at ?? history.length) + by;
    if (at < 0 || at > history.length || (past === null && by > 0)) return false;
    const own = past?.own ?? text;
    setPast(at === history.length ? null : { at, own });
    setText(at === history.length ? own : (history[at] ?? ""));
    return true;
  };
  const takePictures = (files: File[]) => {
    const room = IMAGES_AT_MOST - attachments.filter((one) => one.kind === "image").length;
    const fit = files.filter((one) => one.size <= IMAGE_LIMIT).slice(0, room);
    if (!current?.images) return setRefused(current ? t("{0} does not accept pictures.", current.agent) : t("Start a conversation first. Not every agent accepts pictures."));
    setRefused(fit.length === files.length ? "" : t("A message can have at most {0} pictures of {1} MB each.", IMAGES_AT_MOST, IMAGE_LIMIT >> 20));
    for (const file of fit) void picture(file).then((image) => setAttachments((before) => merged(before, [image])));
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setDragged(false);
    if (blocked || !event.dataTransfer) return;
    const uris = urisIn(event.dataTransfer);
    const pictures = [...event.dataTransfer.files].filter((one) => IMAGES.test(one.type));
    setRefused("");
    if (uris.length > 0) store.send({ type: "drop", uris: uris.slice(0, DROPPED_AT_MOST) });
    else if (pictures.length > 0) takePictures(pictures);
    else setRefused(t("Drag files from the Explorer or an editor tab. A page cannot see where other files are."));
  };
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    if (event.isComposing) return;
    if (menu && candidates.length > 0) {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (step) {
        event.preventDefault();
        return setChosen((chosen + step + candidates.length) % candidates.length);
      }
      if (event.key === "Enter" || event.key === "Tab") {
        event.preventDefault();
        return take(candidates[chosen]!);
      }
    }
    if (event.key === "Escape" && menu) {
      event.preventDefault();
      return setMenu(null);
    }
    const { selectionStart, selectionEnd, value } = event.currentTarget;
    if (event.key === "ArrowUp" && selectionStart === 0 && selectionEnd === 0 && walk(-1)) event.preventDefault();
    if (event.key === "ArrowDown" && selectionStart === value.length && walk(1)) event.preventDefault();
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      send();
    }
  };
  const open = menu !== null && candidates.length > 0;
  const hint = blocked
    ? t("This conversation can only be read")
    : running
      ? t("Queue a message for when the agent has finished")
      : t("Ask the agent. @ adds files, / runs a command");
  return (
    <div class="prompt">
      {current && current.queue.length > 0 && (
        <ul class="queue" aria-label={t("Queued messages")}>
          {current.queue.map((one) => (
            <li key={one.id}>
              <Icon name="clock" />
              <span class="words">{one.text}</span>
              <IconButton icon="close" label={t("Remove from the queue")} onClick={() => store.send({ type: "unqueue", sessionId: current.sessionId, id: one.id })} />
            </li>
          ))}
        </ul>
      )}
      <div
        class={`box ${blocked ? "blocked" : ""} ${dragged ? "dragged" : ""}`}
        onDragOver={(event) => {
          event.preventDefault(); // otherwise nothing can be dropped here
          setDragged(!blocked);
        }}
        onDragLeave={() => setDragged(false)}
        onDrop={onDrop}
      >
        {attachments.length > 0 && (
          <div class="chips">
            {attachments.map((one) => (
              <span class="chip" key={one.id} title={one.uri}>
                <Icon name={attachmentIcon(one.kind)} />
                {one.label}
                <IconButton
                  icon="close"
                  label={t("Remove {0}", one.label)}
                  onClick={() => setAttachments(attachments.filter((other) => other.id !== one.id))}
                />
              </span>
            ))}
          </div>
        )}
        {open && (
          <ul class="menu" role="listbox" id="candidates" aria-label={menu.kind === "slash" ? t("Commands") : t("Things to add")}>
            {candidates.map((one, at) => (
              <li
                key={`${one.label}${one.detail ?? ""}`}
                id={`candidate-${at}`}
                role="option"
                aria-selected={at === chosen}
                ref={at === chosen ? (element) => element?.scrollIntoView({ block: "nearest" }) : null}
                onPointerDown={(event) => {
                  event.preventDefault(); // the text keeps the focus
                  take(one);
                }}
              >
                <Icon name={one.icon} />
                <span class="label">{one.label}</span>
                {one.detail && <span class="detail">{one.detail}</span>}
              </li>
            ))}
          </ul>
        )}
        <textarea
          ref={box}
          rows={2}
          value={text}
          placeholder={hint}
          aria-label={t("Message to the agent")}
          aria-haspopup="listbox"
          aria-controls={open ? "candidates" : undefined}
          aria-autocomplete="list"
          aria-activedescendant={open ? `candidate-${chosen}` : undefined}
          disabled={blocked}
          onInput={(event) => {
            const { value, selectionStart } = event.currentTarget;
            setText(value);
            setPast(null);
            setRefused("");
            look(value, selectionStart);
          }}
          onClick={(event) => look(event.currentTarget.value, event.currentTarget.selectionStart)}
          onBlur={() => setMenu(null)}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            const files = [...(event.clipboardData?.files ?? [])].filter((one) => IMAGES.test(one.type));
            // content copied from a document may be both; its text is what the user means
            if (files.length === 0 || event.clipboardData?.getData("text/plain")) return setRefused("");
            event.preventDefault();
            takePictures(files);
          }}
        />
        {refused && (
          <div class="refused" role="status">
            {refused}
          </div>
        )}
        {stopping && (
          <div class="stopping" role="status">
            {t("Press Escape again to stop the agent")}
          </div>
        )}
        <div class="bar">
          {current ? (
            current.pickers.map((one) => <PickerBox key={one.id} picker={one} store={store} sessionId={current.sessionId} />)
          ) : (
            <span class="muted agent-name">{overview.agents.find((one) => one.id === agent)?.name ?? ""}</span>
          )}
          <span class="grow" />
          {current?.usage && <Usage usage={current.usage} />}
          {running && (
            <IconButton icon={current.stopping ? "loading" : "debug-stop"} label={current.stopping ? t("Stopping…") : t("Stop")} disabled={current.stopping} class={`stop ${current.stopping ? "spin" : ""}`} onClick={() => store.send({ type: "stop", sessionId: current.sessionId })} />
          )}
          {(!running || text.trim()) && (
            <IconButton icon={running ? "list-ordered" : "send"} label={running ? t("Queue") : t("Send")} class="send" disabled={!text.trim() || !ready || blocked} onClick={send} />
          )}
        </div>
      </div>
    </div>
  );
}

function PickerBox({ picker, store, sessionId }: { picker: Picker; store: Store; sessionId: string }) {
  const pick = (value: string | boolean) => store.send({ type: "pick", sessionId, picker: picker.id, value });
  if (picker.toggle) {
    const on = picker.current === "true";
    return (
      <button class="quiet picker" aria-pressed={on} title={picker.label} onClick={() => pick(!on)}>
        <Icon name={on ? "pass" : "circle-large"} /> {picker.label}
      </button>
    );
  }
  const now = picker.choices.find((one) => one.id === picker.current);
  return (
    <span class="picker" title={`${picker.label}${now?.description ? `: ${now.description}` : ""}`}>
      <select aria-label={picker.label} value={picker.current} onChange={(event) => pick(event.currentTarget.value)}>
        {picker.choices.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name}
          </option>
        ))}
      </select>
    </span>
  );
}

function Usage({ usage }: { usage: NonNullable<Current["usage"]> }) {
  const part = usage.size > 0 ? Math.min(100, Math.round((100 * usage.used) / usage.size)) : 0;
  const words = t("{0} of {1} tokens of context used", usage.used.toLocaleString(), usage.size.toLocaleString());
  return (
    <span class={`usage ${part >= 90 ? "much" : ""}`} title={usage.cost ? `${words} · ${usage.cost}` : words}>
      <span aria-hidden="true">{part}%</span>
      <span class="sr">{words}</span>
    </span>
  );
}

/** What is being completed at the caret: a word with `@`, or the command at the start of the text. */
export function menuAt(text: string, caret: number, slashes: boolean): Menu | null {
  const before = text.slice(0, caret);
  const slash = slashes ? /^\/(\S*)$/.exec(before) : null;
  if (slash) return { kind: "slash", from: 0, to: caret, query: slash[1]! };
  const mention = /(?:^|\s)@([^\s@]{0,200})$/.exec(before);
  if (!mention) return null;
  return { kind: "mention", from: caret - mention[1]!.length - 1, to: caret, query: mention[1]! };
}

/** The commands whose name contains the query; those that begin with it first, and the exact one before all. */
export function commandsLike(all: readonly Slash[], query: string): Slash[] {
  const wanted = query.toLowerCase();
  const rank = ({ name }: Slash) => (name.toLowerCase() === wanted ? 0 : name.toLowerCase().startsWith(wanted) ? 1 : 2);
  return all.filter((one) => one.name.toLowerCase().includes(wanted)).sort((a, b) => rank(a) - rank(b));
}

/** Something that text is typed into. */
function editable(target: EventTarget | null): boolean {
  return target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
}

/** The addresses of what is dragged: VS Code's own list of its files, or the browser's. */
function urisIn(data: DataTransfer): string[] {
  const lines = (data.getData("application/vnd.code.uri-list") || data.getData("text/uri-list")).split(/\r?\n/);
  return lines.map((one) => one.trim()).filter((one) => one !== "" && !one.startsWith("#") && one.length <= 8192);
}

const IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/** A pasted picture as an attachment of the prompt. */
async function picture(file: File): Promise<Attachment> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return { id: `image-${crypto.randomUUID()}`, kind: "image", label: file.name || t("Image"), uri: "", text: btoa(binary), mimeType: file.type };
}
