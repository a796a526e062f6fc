/** A form that an agent asks the user to fill in, or an address that it asks to open. Sent only after the user clicks. */

import { useState } from "preact/hooks";
import type { EntryOf, Field } from "../model";
import { readable } from "./markdown";
import { Icon } from "./parts";
import { useArmed, useArrived } from "./question";
import type { Store } from "./store";
import { t } from "./strings";

type Value = string | number | boolean | string[];

interface Props {
  entry: EntryOf<"form">;
  store: Store;
  sessionId: string;
}

export function Form({ entry, store, sessionId }: Props) {
  const open = entry.state === "open";
  const { card, armed } = useArmed(open);
  const { arrived, ...events } = useArrived();
  const [values, setValues] = useState<Record<string, Value>>(() =>
    Object.fromEntries(entry.fields.flatMap((one) => (one.initial === undefined ? [] : [[one.name, one.initial]]))),
  );
  const [missing, setMissing] = useState<string | null>(null);
  if (entry.state !== "open") {
    const words = { answered: entry.url ? t("Opened. The agent is waiting for the result.") : t("Answered."), finished: t("Finished."), withdrawn: t("No longer asked.") };
    return (
      <div class="question settled">
        <Icon name={entry.state === "withdrawn" ? "circle-slash" : "check"} />
        <span class="words">
          {entry.message} <b>{words[entry.state]}</b>
        </span>
      </div>
    );
  }
  const submit = (action: "accept" | "decline" | "cancel", event: MouseEvent) => {
    if (!armed || (event.detail !== 0 && !arrived.current)) return;
    const lacking = action === "accept" ? entry.fields.find((one) => one.required && empty(values[one.name])) : undefined;
    if (lacking) return setMissing(lacking.name);
    card.current?.closest<HTMLElement>("[data-row]")?.focus();
    store.send({ type: "submit", sessionId, requestId: entry.requestId, action, values: action === "accept" ? values : {} });
  };
  const url = entry.url;
  return (
    <div class="question form" ref={card} role="group" aria-label={t("The agent asks")} {...events}>
      <div class="question-head">
        <Icon name={url ? "link-external" : "question"} />
        <b>{url ? t("The agent asks you to open a page") : t("The agent asks")}</b>
      </div>
      <div class="question-text">{entry.message}</div>
      {url && (
        <div class="address">
          <b>{host(url)}</b>
          <span>{readable(url)}</span>
        </div>
      )}
      {entry.fields.map((field) => (
        <FieldRow
          key={field.name}
          field={field}
          name={`${entry.id}-${field.name}`}
          value={values[field.name]}
          missing={missing === field.name}
          set={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      <div class="buttons">
        <button class="allow" aria-disabled={!armed} onClick={(event) => submit("accept", event)}>
          {url ? t("Open page") : t("Submit")}
        </button>
        <button aria-disabled={!armed} onClick={(event) => submit("decline", event)}>
          {t("Decline")}
        </button>
        <button aria-disabled={!armed} onClick={(event) => submit("cancel", event)}>
          {t("Not now")}
        </button>
      </div>
    </div>
  );
}

interface FieldProps {
  field: Field;
  name: string;
  value: Value | undefined;
  missing: boolean;
  set: (value: Value) => void;
}

function FieldRow({ field, name, value, missing, set }: FieldProps) {
  const choices = field.choices ?? [];
  if (field.type === "boolean") {
    return (
      <label class="field check">
        <input type="checkbox" checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />
        <span>{field.label}</span>
        {field.hint && <span class="muted">{field.hint}</span>}
      </label>
    );
  }
  if (field.type === "choices") {
    const chosen = Array.isArray(value) ? value : [];
    return (
      <fieldset class="field">
        <legend>{field.label}</legend>
        {choices.map((one) => (
          <label key={one.value} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(one.value)}
              onChange={(event) => set(event.currentTarget.checked ? [...chosen, one.value] : chosen.filter((other) => other !== one.value))}
            />
            <span>{one.label}</span>
          </label>
        ))}
      </fieldset>
    );
  }
  const common = { id: name, "aria-required": field.required, "aria-invalid": missing };
  return (
    <div class="field">
      <label for={name}>
        {field.label}
        {field.required ? " *" : ""}
      </label>
      {field.type === "choice" ? (
        <select {...common} value={String(value ?? "")} onChange={(event) => set(event.currentTarget.value)}>
          <option value="">{t("Choose…")}</option>
          {choices.map((one) => (
            <option key={one.value} value={one.value}>
              {one.label}
            </option>
          ))}
        </select>
      ) : field.type === "multiline" ? (
        <textarea {...common} value={String(value ?? "")} onInput={(event) => set(event.currentTarget.value)} />
      ) : field.type === "text" ? (
        <input {...common} type="text" value={String(value ?? "")} onInput={(event) => set(event.currentTarget.value)} />
      ) : (
        <input
          {...common}
          type="number"
          step={field.type === "integer" ? 1 : "any"}
          {...(field.minimum === undefined ? {} : { min: field.minimum })}
          {...(field.maximum === undefined ? {} : { max: field.maximum })}
          value={value === undefined ? "" : String(value)}
          onInput={(event) => {
            const words = event.currentTarget.value;
            set(words === "" ? words : Number(words));
          }}
        />
      )}
      {missing && <span class="error">{t("Needed")}</span>}
      {field.hint && <span class="muted">{field.hint}</span>}
    </div>
  );
}

function empty(value: Value | undefined): boolean {
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
}

function host(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}
