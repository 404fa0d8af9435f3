/** What lines of a log say of effects: one row an effect, made from all that is told of it at once. */
import { DISPATCH_CAPABILITY } from "../core/entry.ts";
import type { EffectRow } from "./d1.ts";

type Told = Readonly<Record<string, unknown>>;

/** `all`: false where finished dispatches get no row of their own. Lines in the order of the log. */
export function effectsOf(lines: readonly string[], all: boolean): EffectRow[] {
  const rows = new Map<string, EffectRow>();
  for (const line of lines) {
    const told: Told = JSON.parse(line);
    const { effect_id, stream, capability, type } = told;
    if (typeof effect_id !== "string" || typeof capability !== "string" || type === "purged") continue;
    const id = `${String(stream)} ${effect_id}`;
    rows.set(id, merge(rows.get(id), told, all));
  }
  return [...rows.values()];
}

function merge(earlier: EffectRow | undefined, told: Told, all: boolean): EffectRow {
  const state = stateOf(told);
  const isFlag = told.type === "late" || told.type === "contradiction";
  const isOpenOnly = !all && told.capability === DISPATCH_CAPABILITY && state !== "unknown";
  return {
    effect_id: String(told.effect_id),
    stream: String(told.stream),
    attempt: typeof told.attempt === "number" ? told.attempt : null,
    capability: String(told.capability),
    state: state ?? earlier?.state ?? null,
    target: textOf(told.target) ?? earlier?.target ?? null,
    cost: told.cost === undefined ? (earlier?.cost ?? null) : JSON.stringify(told.cost),
    digest: textOf(told.digest) ?? earlier?.digest ?? null,
    code: textOf(told.code),
    intent_at: state === "intent" ? Number(told.at) : (earlier?.intent_at ?? null),
    changed_at: Number(told.at),
    flagged: isFlag || earlier?.flagged === 1 ? 1 : 0,
    version: Number(told.seq),
    must: isOpenOnly && earlier?.must !== 1 ? 0 : 1,
  };
}

/** Null: the line tells no state. */
function stateOf({ phase, type }: Told): string | null {
  return textOf(phase) ?? (type === "unknown" ? "unknown" : null);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
