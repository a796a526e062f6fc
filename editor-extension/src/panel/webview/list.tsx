/**
 * A list of rows with unknown heights. Only rows near the view exist. While the end is in sight, it stays in sight.
 * When the user has scrolled up, nothing moves.
 */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { Row } from "./rows";
import { t } from "./strings";

const OVERSCAN = 6;
/** Pixels from the end that still count as the end. */
const NEAR_END = 32;
/** The most frames to wait for a row before it is focused: a second or more. */
const REVEAL_FRAMES = 90;

interface Props {
  rows: Row[];
  draw: (row: Row) => ComponentChildren;
  /** Incremented to bring the row with this key into sight and focus it. */
  reveal: { key: string; serial: number } | null;
  /** Identifies the conversation. A new one starts at its end. */
  conversation: string | null;
  /** Incremented with each message that the user sends. It is shown, wherever the reader was. */
  sends: number;
  /** Shown while there are no rows. */
  empty: ComponentChildren;
}

export function List({ rows, draw, reveal, conversation, sends, empty }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);
  const [, redraw] = useReducer((count: number, _: undefined) => count + 1, 0);
  const current = useRef(rows);
  current.current = rows;
  const holder = useRef<Virtualizer<HTMLDivElement, HTMLElement> | null>(null);
  // always the same functions, because new ones make the list forget the position of every row
  const estimateSize = useCallback((index: number) => current.current[index]?.guess ?? 40, []);
  const getItemKey = useCallback((index: number) => current.current[index]?.key ?? index, []);
  const options = {
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize,
    getItemKey,
    overscan: OVERSCAN,
    paddingStart: 8,
    paddingEnd: 12,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(undefined),
    useAnimationFrameWithResizeObserver: false,
  };
  holder.current ??= new Virtualizer(options);
  const virtual = holder.current;
  virtual.setOptions(options);
  const height = virtual.getTotalSize();

  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  useLayoutEffect(() => {
    pinned.current = true;
  }, [conversation, sends]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && pinned.current) element.scrollTop = height; // beyond the end means the end
  }, [height, conversation, sends, pinned.current, virtual.scrollRect?.height]);
  useEffect(() => {
    if (!reveal) return;
    const index = current.current.findIndex((row) => row.key === reveal.key);
    if (index < 0) return;
    pinned.current = false;
    virtual.scrollToIndex(index, { align: "center" });
    // the row exists only once the list has scrolled there and rendered
    let left = REVEAL_FRAMES;
    let frame = requestAnimationFrame(function look() {
      const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${reveal.key}"]`);
      if (row) row.focus();
      else if (--left > 0) frame = requestAnimationFrame(look);
    });
    return () => cancelAnimationFrame(frame);
  }, [reveal?.serial]);

  const items = virtual.getVirtualItems();
  return (
    <div class="log-frame">
      <div
        class="log"
        ref={scroller}
        role="log"
        aria-live="off"
        aria-label={t("Conversation")}
        tabIndex={0}
        onScroll={(event) => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          const near = scrollHeight - scrollTop - clientHeight < NEAR_END;
          if (near !== pinned.current) {
            pinned.current = near;
            redraw(undefined);
          }
        }}
      >
        <div class="log-inner" style={{ height: `${height}px` }}>
          {items.map((item) => {
            const row = rows[item.index];
            return row ? (
              <div
                key={row.key}
                class="row"
                data-index={item.index}
                data-row={row.key}
                tabIndex={-1}
                ref={virtual.measureElement}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {draw(row)}
              </div>
            ) : null;
          })}
        </div>
      </div>
      {rows.length === 0 && <div class="empty muted">{empty}</div>}
      {!pinned.current && (
        <button
          class="to-end"
          title={t("Go to the end")}
          aria-label={t("Go to the end")}
          onClick={() => {
            pinned.current = true;
            redraw(undefined);
          }}
        >
          <span class="codicon codicon-arrow-down" aria-hidden="true" />
        </button>
      )}
    </div>
  );
}
