/**
 * Asks the origin what became of an attempt whose outcome is unknown, and records what it says. The question is about the current
 * attempt, and the answer is recorded for that attempt only: whatever has happened to the key meanwhile wins.
 */
import type { Verdict } from "../../core/event.ts";
import {
  FLUSH_RETRY_MS,
  PROBE_PUT_OFF_MS,
  PROBE_UNABLE_MS,
  UNREADABLE_RETRY_MS,
  WAKE_PAUSE_MS,
} from "../../core/limits.ts";
import type { ProbeRule, RoutePolicy } from "../../core/policy.ts";
import type { Asked, Attempt, Keyring, ProbePort, Voiding } from "../../core/ports.ts";
import { type Answer, tokenOf, type Unknown } from "../../core/record.ts";
import { probeDueOf } from "../../core/step.ts";
import type { Keeper, KeeperParts } from "../keeper.ts";
import { sealGiven } from "../storage/given.ts";

/** `route` finds a route's policy; null: this version has no such route. */
export type InquiryParts = KeeperParts & {
  route: (id: string) => RoutePolicy | null;
  keyring: Keyring;
  probe: ProbePort;
};

export type Inquired =
  /** There was nothing to ask: the outcome is not unknown, or the key was never used. */
  | "known"
  /** The origin was asked and its word is recorded, which may be that it doesn't know. */
  | "asked"
  /** Not now: it was asked within the last second, or is asked too much, or doesn't answer. */
  | "put-off"
  /** The key's route has no probe (any more). */
  | "unable"
  /** This version can't read the record. Nothing was written. */
  | "unreadable"
  /** The store did not take the origin's word, or could not be read. */
  | "failed";

type Open = { record: Unknown; policy: RoutePolicy; rule: ProbeRule };

/**
 * Asks about this key now, if its outcome is unknown. Calls that come while a question is under way share it. `rawKey` is the
 * client's own key where a client is asking: without it a route that seals with it keeps no copy of the answer. Throws nothing
 * that the origin causes.
 */
export async function inquire(keeper: Keeper, parts: InquiryParts, rawKey: string | null): Promise<Inquired> {
  // Attends to an attempt that has ended without a word, too.
  const ticked = keeper.step(parts, { do: "tick" });
  if (ticked.kind !== "stepped") return ticked.kind;
  const { record } = ticked.step;
  if (record.state !== "unknown") return "known";
  const policy = parts.route(record.route);
  const rule = policy?.probe ?? null;
  if (policy === null || rule === null) return "unable";
  return keeper.inquiry.once(Date.now(), () => ask(keeper, parts, { record, policy, rule }, rawKey));
}

/** What the alarm does of it: asks if a question is due. Gives the shortest pause before the next alarm. */
export async function inquireWhenDue(keeper: Keeper, parts: InquiryParts): Promise<number> {
  const loaded = keeper.store.load();
  if (loaded.kind === "unreadable") return UNREADABLE_RETRY_MS;
  const { record } = loaded;
  const now = Date.now();
  const due = record.state === "unknown" ? probeDueOf(record, now) : null;
  if (due === null || due > now) return WAKE_PAUSE_MS;
  switch (await inquire(keeper, parts, null)) {
    case "known":
    case "asked":
      return WAKE_PAUSE_MS;
    // The due time stays where it is: nothing has been learned and nothing is counted.
    case "put-off":
      return PROBE_PUT_OFF_MS * (1 + Math.random());
    case "unable":
      return PROBE_UNABLE_MS;
    case "unreadable":
      return UNREADABLE_RETRY_MS;
    case "failed":
      return FLUSH_RETRY_MS;
  }
}

/**
 * Stopping after the origin has answered and before its word is stored leaves the outcome unknown: the question is asked again, and
 * an attempt that was sealed is still sealed.
 */
async function ask(
  keeper: Keeper,
  parts: InquiryParts,
  open: Open,
  rawKey: string | null,
): Promise<Inquired> {
  const { record } = open;
  const askedAt = Date.now();
  const heard = await hear(parts, { name: keeper.name, effect: record.effect, n: record.n }, open);
  if (heard.kind === "put-off") return "put-off";
  if (heard.kind === "unknown" && heard.why === "illegible") {
    parts.report("probe-illegible", { operation: keeper.name, route: record.route });
  }
  const ageMs = Math.max(0, Date.now() - askedAt);
  const { verdict, rows } = await judge(keeper.name, parts, open, heard, { rawKey, ageMs });
  const event = { do: "probed", token: tokenOf(record), verdict, jitter: Math.random() } as const;
  const done = keeper.step(parts, event, rows);
  if (done.kind !== "stepped") return done.kind;
  if (done.step.answer.kind === "fenced") noteLate(keeper, parts, record, verdict);
  return "asked";
}

/** Another attempt was granted meanwhile, and this one has had its effect: somebody has to look. Stopping before this tells nobody. */
function noteLate(keeper: Keeper, parts: InquiryParts, asked: Unknown, verdict: Verdict): void {
  if (verdict.kind !== "committed") return;
  const { answer } = verdict;
  keeper.step(parts, { do: "settle", token: tokenOf(asked), effect: asked.effect, answer });
}

/** Where the origin can void what it hasn't seen, that is proof at once; what it has merely not seen is not. */
async function hear(parts: InquiryParts, attempt: Attempt, open: Open): Promise<Asked | Voiding> {
  const { record, policy, rule } = open;
  const asked = await parts.probe.ask(attempt, rule, policy.responseBytesMax);
  if (asked.kind !== "none") return asked;
  // Sent before the route had a probe, when the origin may not have kept the ids of its effects: not to know it proves nothing.
  if (record.terms.probeDelayMs === null) return { kind: "unknown", why: "said" };
  return rule.sealUrl === null ? asked : parts.probe.seal(attempt, rule.sealUrl, policy.responseBytesMax);
}

type Recorded = { verdict: Verdict; rows: readonly ArrayBuffer[] };

async function judge(
  name: string,
  parts: InquiryParts,
  open: Open,
  heard: Exclude<Asked | Voiding, { kind: "put-off" }>,
  { rawKey, ageMs }: { rawKey: string | null; ageMs: number },
): Promise<Recorded> {
  switch (heard.kind) {
    case "committed": {
      if (heard.answer === "lost") return settledBy({ kind: "lost" }, []);
      const { record, policy } = open;
      const { answer, rows } = await sealGiven(heard.answer, record, {
        name,
        keyring: parts.keyring,
        policy,
        rawKey,
      });
      return settledBy(answer, rows);
    }
    case "void":
      return { verdict: { kind: "none", sealed: true, ageMs }, rows: [] };
    case "none":
      return { verdict: { kind: "none", sealed: false, ageMs }, rows: [] };
    case "unknown":
      return { verdict: { kind: "silent" }, rows: [] };
  }
}

function settledBy(answer: Answer, rows: readonly ArrayBuffer[]): Recorded {
  return { verdict: { kind: "committed", answer }, rows };
}
