/**
 * A permission card: what will be executed, in the server's words, and the options. It never takes focus. It can be
 * answered after it was in sight for half a second. A click counts only if the pointer moved to the button, not if the
 * button moved under the pointer.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import type { EntryOf, Option } from "../model";
import { lineOf } from "../shell";
import { readable, visible } from "./markdown";
import { DiffCard, Icon } from "./parts";
import type { Store } from "./store";
import { t } from "./strings";

/** Milliseconds in sight before an answer counts. */
export const ARMED_AFTER = 500;
/** The most characters of a name that are shown; a longer one shows head and tail. A command is shown in full and scrolls. */
const LONG = 4000;
const ORDER = ["allow_once", "allow_always", "reject_once", "reject_always"];

/** True once the element has been in sight for ARMED_AFTER without interruption. */
export function useArmed(open: boolean) {
  const card = useRef<HTMLDivElement>(null);
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    const element = card.current;
    if (!open || !element) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new IntersectionObserver((seen) => {
      const visible = seen.at(-1)?.isIntersecting ?? false;
      if (visible) timer ??= setTimeout(() => setArmed(true), ARMED_AFTER);
      else {
        clearTimeout(timer);
        timer = undefined;
        setArmed(false);
      }
    });
    observer.observe(element);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [open]);
  return { card, armed };
}

/** Where the pointer last was, and whether its last event was a real movement. Browsers also send events when only the page moved. */
const pointer = { x: Number.NaN, y: Number.NaN, moved: false };
document.addEventListener(
  "pointermove",
  (event) => {
    pointer.moved = event.clientX !== pointer.x || event.clientY !== pointer.y;
    pointer.x = event.clientX;
    pointer.y = event.clientY;
  },
  { capture: true },
);

/** False while an element slid under the pointer by itself. */
export function useArrived() {
  const arrived = useRef(true);
  return {
    arrived,
    onPointerEnter: (event: PointerEvent) => {
      arrived.current = event.pointerType !== "mouse" || event.clientX !== pointer.x || event.clientY !== pointer.y;
    },
    onPointerMove: () => {
      if (pointer.moved) arrived.current = true;
    },
  };
}

interface Props {
  entry: EntryOf<"question">;
  store: Store;
  sessionId: string;
}

export function QuestionCard({ entry, store, sessionId }: Props) {
  const { question, state } = entry;
  const { card, armed } = useArmed(state === "open");
  const { arrived, ...events } = useArrived();
  const titles = {
    read: t("May it read this?"),
    write: t("May it change this?"),
    execute: t("May it run this command?"),
    start: t("May this program be started?"),
    other: t("The agent asks for permission"),
  };
  if (state !== "open") {
    return (
      <div class="question settled">
        <Icon name={state === "withdrawn" ? "circle-slash" : "shield"} />
        <span class="words">
          {titles[question.action]} <b>{state === "withdrawn" ? t("No longer asked.") : entry.answer}</b>
        </span>
      </div>
    );
  }
  const answer = (option: Option, event: MouseEvent) => {
    const byKey = event.detail === 0;
    if (!armed || (!byKey && !arrived.current)) return;
    card.current?.closest<HTMLElement>("[data-row]")?.focus(); // Enter must not hit the next card's button
    store.send({ type: "answer", sessionId, requestId: question.requestId, optionId: option.optionId });
  };
  const options = [...question.options].sort((a, b) => rank(a) - rank(b));
  return (
    <div class="question" ref={card} role="group" aria-label={titles[question.action]} {...events}>
      <div class="question-head">
        <Icon name="shield" />
        <b>{titles[question.action]}</b>
      </div>
      {question.argv && <pre class="argv" tabIndex={0} aria-label={t("Command")}>{visible(question.argv.length === 1 ? question.argv[0]! : lineOf(question.argv))}</pre>}
      {question.target && !question.diffs?.length && <pre class="argv" tabIndex={0} aria-label={t("File")}>{readable(question.target, LONG)}</pre>}
      {(question.cwd || question.env?.length) && (
        <dl>
          {question.cwd && (
            <>
              <dt>{t("in")}</dt>
              <dd>{readable(question.cwd, LONG)}</dd>
            </>
          )}
          {question.env && question.env.length > 0 && (
            <>
              <dt>{t("sets")}</dt>
              <dd>{readable(question.env.join(", "), LONG)}</dd>
            </>
          )}
        </dl>
      )}
      {question.diffs?.map((diff) => <DiffCard key={diff.index} diff={diff} open onOpen={() => store.send({ type: "openDiff", sessionId, entry: entry.id, index: diff.index })} />)}
      <div class="question-text">{withoutCommand(question.text, question.argv)}</div>
      {question.reason && <div class="muted">{question.reason}</div>}
      <div class="buttons">
        {options.map((option) => (
          <button
            key={option.optionId}
            class={option.kind === "allow_once" ? "allow" : ""}
            aria-disabled={!armed}
            onClick={(event) => answer(option, event)}
          >
            {readable(option.label, 80)}
          </button>
        ))}
      </div>
    </div>
  );
}

/** The server's words have the command at their end, or at a sentence's. It stands above already. Only exactly what stands there is left out, and what it sets, which does too. */
function withoutCommand(words: string, argv: readonly string[] | undefined): string {
  if (!argv) return words;
  const command = `: ${lineOf(argv)}`;
  const at = words.indexOf(command);
  const after = words.slice(at + command.length);
  if (at < 0) return words;
  if (after === "." || after.startsWith(". ")) return words.slice(0, at) + after;
  return after === "" || after.startsWith(" — it sets ") ? words.slice(0, at) : words;
}

function rank(option: Option): number {
  const at = ORDER.indexOf(option.kind);
  return at < 0 ? ORDER.length : at;
}
