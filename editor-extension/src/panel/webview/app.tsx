/** The page: header, conversation or another page, what waits for the user, prompt box, and the voice of the screen reader. */

import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { Current, Overview } from "../model";
import { RowView } from "./entries";
import { List } from "./list";
import { Choose, Sessions, Start, stateIcon } from "./pages";
import { Icon, IconButton } from "./parts";
import { Prompt } from "./prompt";
import { Rows } from "./rows";
import type { Store } from "./store";
import { t } from "./strings";

export function App({ store }: { store: Store }) {
  const [, redraw] = useReducer((count: number, _: undefined) => count + 1, 0);
  // Not in an effect, which runs after the first frame: the page has said that it is ready by then, and may have its answer
  useLayoutEffect(() => store.subscribe(() => redraw(undefined)), [store]);
  const { overview } = store;
  if (!overview) return <Loading words={t("Starting…")} />;
  const current = overview.current;
  const agent = overview.defaultAgent;
  return (
    <div class="app" data-place={overview.place}>
      {overview.trouble && (
        <div class="notice warning trouble" role="status">
          <Icon name="warning" />
          <span class="words">{overview.trouble.text}</span>
          {overview.trouble.action && (
            <button onClick={() => store.send({ type: "action", id: overview.trouble!.action!.id })}>{overview.trouble.action.label}</button>
          )}
        </div>
      )}
      {overview.tour && <Tour tour={overview.tour} store={store} />}
      {store.page === "sessions" ? (
        <Sessions store={store} overview={overview} />
      ) : store.page === "agents" ? (
        <Choose store={store} overview={overview} />
      ) : current && store.sessionId === current.sessionId ? (
        <Conversation store={store} current={current} following={overview.following} place={overview.place} />
      ) : overview.vacant === "choosing" ? (
        <Choose store={store} overview={overview} />
      ) : overview.place === "tab" ? (
        <Loading words={overview.vacant === "opening" ? t("The conversation is being opened…") : t("This conversation is no longer there.")} />
      ) : (
        <Start store={store} overview={overview} />
      )}
      {store.page === "conversation" && (current || overview.place === "side") && <Foot store={store} overview={overview} current={current} agent={agent} />}
      <Voice all={store.announcements} />
    </div>
  );
}

/** Instead of a page. */
function Loading({ words }: { words: string }) {
  return (
    <div class="loading" role="status">
      <h1>{words}</h1>
    </div>
  );
}

function Conversation({ store, current, following, place }: { store: Store; current: Current; following: boolean; place: Overview["place"] }) {
  const rows = useRef(new Rows());
  const list = useMemo(() => rows.current.of(store), [store.revision, store.sessionId]);
  const [reveal, setReveal] = useState<{ key: string; serial: number } | null>(null);
  const open = store.entries.filter((one) => (one.kind === "question" || one.kind === "form") && one.state === "open");
  const first = open[0]?.id;
  useEffect(() => {
    if (store.revealQuestion > 0 && first) setReveal({ key: first, serial: store.revealQuestion * 2 });
  }, [store.revealQuestion]);
  const state = stateIcon(current);
  const heading = (
    <>
      <Icon name={state.name} spin={state.spin} />
      <span class="sr">{state.words}</span>
      <span class="title">{current.title || t("New conversation")}</span>
      <span class="muted">{current.agent}</span>
    </>
  );
  return (
    <>
      <header>
        <h1>
          {place === "tab" ? (
            <span class="heading">{heading}</span>
          ) : (
            <button class="heading" title={t("All conversations")} onClick={() => store.show("sessions")}>
              {heading}
            </button>
          )}
        </h1>
        {current.forks && (
          <IconButton icon="repo-forked" label={t("Fork: start a new conversation from this one")} onClick={() => store.send({ type: "forkSession", sessionId: current.sessionId })} />
        )}
        {!current.recorded && (
          <IconButton
            icon="target"
            label={t("Follow the agent, until you type or scroll")}
            pressed={following}
            onClick={() => store.send({ type: "follow", on: !following })}
          />
        )}
        {place === "tab" ? (
          <IconButton icon="layout-sidebar-right" label={t("Open in the side bar")} onClick={() => store.send({ type: "openInSideBar" })} />
        ) : (
          <IconButton icon="multiple-windows" label={t("Open in an editor tab")} onClick={() => store.send({ type: "openInEditor", sessionId: current.sessionId })} />
        )}
      </header>
      <List
        rows={list}
        reveal={reveal}
        conversation={store.sessionId}
        sends={store.sends}
        empty={
          current.state === "starting" ? t("{0} is starting…", current.agent) : t("{0} is ready. It sees your open files, including unsaved text.", current.agent)
        }
        draw={(row) => <RowView row={row} store={store} sessionId={current.sessionId} recorded={current.recorded} />}
      />
      {open.length > 0 && first && (
        <button class="waiting" onClick={() => setReveal({ key: first, serial: (reveal?.serial ?? 0) + 1 })}>
          <Icon name="bell-dot" /> {open.length === 1 ? t("1 question is waiting for your answer") : t("{0} questions are waiting for your answer", open.length)}
        </button>
      )}
    </>
  );
}

function Foot({ store, overview, current, agent }: { store: Store; overview: Overview; current: Current | undefined; agent: string | undefined }) {
  if (current?.recorded) {
    return (
      <div class="recorded">
        <span class="grow">{current.resumable ? t("A recorded conversation.") : t("A recorded conversation. Its agent cannot continue it.")}</span>
        <button class="primary" onClick={() => store.send({ type: "continueSession", sessionId: current.sessionId })}>
          {current.resumable ? t("Continue") : t("Continue in new session")}
        </button>
      </div>
    );
  }
  return <Prompt store={store} overview={overview} current={current} agent={agent} />;
}

function Tour({ tour, store }: { tour: NonNullable<Overview["tour"]>; store: Store }) {
  return (
    <section class="tour" aria-label={t("Try it")}>
      <ol>
        {tour.steps.map((words, at) => (
          <li key={at} class={at < tour.step ? "past" : at === tour.step ? "now" : ""} aria-current={at === tour.step ? "step" : undefined}>
            <Icon name={at < tour.step ? "pass-filled" : at === tour.step ? "circle-large-filled" : "circle-large"} />
            <span>{words}</span>
          </li>
        ))}
      </ol>
      <button class="quiet" onClick={() => store.send({ type: "action", id: "endTour" })}>
        {tour.step >= tour.steps.length ? t("Done") : t("Leave the demo")}
      </button>
    </section>
  );
}

/**
 * Announces each thing once, politely. The region exists from the start, because a region that appears together with
 * its words is often not read. Each announcement has its own element; otherwise repeating the same words would change
 * nothing.
 */
function Voice({ all }: { all: Store["announcements"] }) {
  return (
    <div class="sr" role="status" aria-live="polite" aria-atomic="false" id="voice">
      {all.map(({ key, words }) => (
        <p key={key}>{words}</p>
      ))}
    </div>
  );
}
