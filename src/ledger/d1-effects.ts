/** What lines of a log say of effects: one row an effect, made from all that is told of it at once. */
import { DISPATCH_CAPABILITY } from "../core/entry.ts";
import type { EffectRow } from "./d1.ts";

/** Types of entries that contradict what is known. */
const FLAGS: readonly string[] = ["late", "contradiction", "effect-contradiction"];

/** Types of entries that tell nothing of their effect: no row is touched for them. */
const SILENT: readonly string[] = ["purged", "observed"];

/** The members of a line. */
type Line = Readonly<Record<string, unknown>>;

/**
 * `all`: false where finished dispatches get no row of their own. Lines in the order of the log; `operations` are the names of the key
 * objects that each of them is about, as far as they are known.
 */
export function effectsOf(
  lines: readonly string[],
  operations: readonly (string | null)[],
  all: boolean,
): EffectRow[] {
  const rows = new Map<string, EffectRow>();
  for (const [i, line] of lines.entries()) {
    const told: Line = JSON.parse(line);
    const { effect_id, stream, capability, type } = told;
    if (typeof effect_id !== "string" || typeof capability !== "string" || SILENT.includes(String(type)))
      continue;
    const id = `${String(stream)} ${isReport(told) ? 1 : 0} ${effect_id}`;
    const earlier = rows.get(id);
    const operation = operations[i] ?? earlier?.operation ?? null;
    rows.set(id, { ...merge(earlier, told, all), operation });
  }
  return [...rows.values()];
}

function merge(earlier: EffectRow | undefined, told: Line, all: boolean): Omit<EffectRow, "operation"> {
  const state = stateOf(told);
  const isFlag = FLAGS.includes(String(told.type));
  // An operator's grounds have members of the same names; they are not the effect's own.
  const news = isFlag || !isReport(told) ? {} : told;
  const isOpenOnly = !all && told.capability === DISPATCH_CAPABILITY && state !== "unknown";
  return {
    effect_id: String(told.effect_id),
    stream: String(told.stream),
    reported: isReport(told) ? 1 : 0,
    attempt: earlier?.attempt ?? (typeof told.attempt === "number" ? told.attempt : null),
    capability: earlier?.capability ?? String(told.capability),
    state: state ?? earlier?.state ?? null,
    target: textOf(news.target) ?? earlier?.target ?? null,
    cost: news.cost === undefined ? (earlier?.cost ?? null) : JSON.stringify(news.cost),
    digest: textOf(news.digest) ?? earlier?.digest ?? null,
    code: state === null ? (earlier?.code ?? null) : textOf(told.code),
    intent_at: state === "intent" ? Number(told.at) : (earlier?.intent_at ?? null),
    changed_at: Number(told.at),
    flagged: isFlag || earlier?.flagged === 1 ? 1 : 0,
    version: Number(told.seq),
    // A line that tells no state opens no row: a late word on an earlier life's effect is told in the stream of the present one.
    must: (isOpenOnly || state === null) && earlier?.must !== 1 ? 0 : 1,
  };
}

function isReport({ type }: Line): boolean {
  return type === "effect" || type === "effect-contradiction";
}

/** States that a line tells by its type. Of an attempt that is late no record says anything any more, so its answer is what is true of it. */
const TOLD_BY_TYPE: ReadonlyMap<unknown, string> = new Map([
  ["unknown", "unknown"],
  ["fenced", "fenced"],
  ["late", "committed"],
]);

/** Null: the line tells no state. What contradicts an earlier truth says a phase and changes none. */
function stateOf({ phase, type }: Line): string | null {
  if (type === "effect-contradiction") return null;
  return textOf(phase) ?? TOLD_BY_TYPE.get(type) ?? null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
