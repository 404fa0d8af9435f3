/** One entry of an effect report, as an origin sends it: JSON in, a value or the member that is wrong out. */

export type EffectPhase = "intent" | "committed" | "failed" | "compensated";

/** Axes of a cost, sorted by name. */
export type Cost = Readonly<Record<string, number>>;

/** What an origin says of one effect at one phase. Null: it doesn't say. */
export type Told = {
  id: string;
  capability: string;
  phase: EffectPhase;
  target: string | null;
  cost: Cost | null;
  digest: string | null;
  code: string | null;
};

const MEMBERS = ["effect_id", "capability", "phase", "target", "cost", "digest", "error"] as const;

/** What can be wrong with an entry. `entry`: it is no JSON object that has one reading. `report`: there are too many. */
export type ReportField = (typeof MEMBERS)[number] | "entry" | "report";

type Refused = { kind: "refused"; field: ReportField };
export type ReadEntry = { kind: "told"; told: Told } | Refused;

const AXES_MAX = 8;
const PHASES: readonly string[] = [
  "intent",
  "committed",
  "failed",
  "compensated",
] satisfies readonly EffectPhase[];
/** Capabilities under which the gateway itself tells what it does. */
const OWN: readonly string[] = ["origin.request", "ledger.prune", "ledger.epoch"];

const ID = /^[\x21-\x7e]{1,64}$/;
const TARGET = /^[\x21-\x7e]{1,128}$/;
const CAPABILITY = /^[a-z][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*$/;
const CAPABILITY_CHARS_MAX = 128;
const DIGEST = /^[0-9a-f]{64}$/;
const CODE = /^[a-z0-9][a-z0-9._-]{0,63}$/;

type Members = Readonly<Record<string, unknown>>;

/** Reads one parsed entry. Members that no entry has are dropped, so that no free text gets any further. */
export function readEntry(given: unknown): ReadEntry {
  if (!isMembers(given)) return refuse("entry");
  const { effect_id: id, capability, phase = "intent", target, cost, digest, error } = given;
  if (!isText(id, ID)) return refuse("effect_id");
  if (!isCapability(capability) || OWN.includes(capability)) return refuse("capability");
  if (!isPhase(phase)) return refuse("phase");
  if (target !== undefined && !isText(target, TARGET)) return refuse("target");
  const axes = cost === undefined ? null : readCost(cost);
  if (axes === "refused") return refuse("cost");
  if (digest !== undefined && !isText(digest, DIGEST)) return refuse("digest");
  const code = error === undefined ? null : readCode(error);
  if (code === undefined) return refuse("error");
  const told = { id, capability, phase, target: target ?? null, cost: axes, digest: digest ?? null, code };
  return { kind: "told", told };
}

/** The entry has a member twice. One that no entry has is not named: its name is the origin's text. */
export function refuseTwice([outermost]: readonly (string | number)[]): Refused {
  return refuse(MEMBERS.find((name) => name === outermost) ?? "entry");
}

function refuse(field: ReportField): Refused {
  return { kind: "refused", field };
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown, form: RegExp): value is string {
  return typeof value === "string" && form.test(value);
}

function isCapability(value: unknown): value is string {
  return isText(value, CAPABILITY) && value.length <= CAPABILITY_CHARS_MAX;
}

function isPhase(value: unknown): value is EffectPhase {
  return typeof value === "string" && PHASES.includes(value);
}

/** Null: a cost without axes says nothing. */
function readCost(value: unknown): Cost | null | "refused" {
  if (!isMembers(value)) return "refused";
  const axes = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const isSound = axes.every(([axis, amount]) => isCapability(axis) && isAmount(amount));
  if (!isSound || axes.length > AXES_MAX) return "refused";
  return axes.length === 0 ? null : (Object.fromEntries(axes) as Cost);
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

/** Undefined: the error has no code. Whatever else it has, a message above all, is dropped. */
function readCode(value: unknown): string | undefined {
  return isMembers(value) && isText(value.code, CODE) ? value.code : undefined;
}
