/** The end of a command's output. While its end is in sight, it stays in sight. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { t } from "./strings";
import { terminalLines } from "./terminal";

/** The most characters that are shown. */
const SHOWN = 16_000;
/** Pixels from the end that still count as the end. */
const NEAR_END = 16;

export function Output({ text }: { text: string }) {
  const lines = useMemo(() => terminalLines(tail(text)), [text]);
  const box = useRef<HTMLPreElement>(null);
  const pinned = useRef(true);
  useLayoutEffect(() => {
    if (box.current && pinned.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  return (
    <pre
      ref={box}
      class="output"
      dir="ltr"
      tabIndex={0}
      aria-label={t("Output")}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        pinned.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
      }}
    >
      {lines.map((line, at) => (
        <>
          {at > 0 && "\n"}
          {line.map((run) => (Object.keys(run.style).length ? <span style={run.style}>{run.text}</span> : run.text))}
        </>
      ))}
    </pre>
  );
}

/** From the start of a line, so that no sequence is cut in two. */
function tail(text: string): string {
  if (text.length <= SHOWN) return text;
  const from = text.length - SHOWN;
  const start = text.indexOf("\n", from);
  return text.slice(start < 0 ? from : start + 1);
}
