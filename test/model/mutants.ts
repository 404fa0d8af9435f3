/** Machines that break one rule each, which the model run has to notice. */
import { ABSENT } from "../../src/core/record.ts";
import type { Step } from "./history.ts";
import { finding, forget, freed, hearing, isOver, judging, NEVER, storing, unfenced } from "./mutate.ts";

/** `seenBy`: invariants each of which sees it without the reference model; empty where only the model can. */
export type Mutant = { name: string; seenBy: readonly string[]; make: (step: Step) => Step };

const fencing: readonly Mutant[] = [
  { name: "a settle is not fenced", seenBy: ["I3"], make: unfenced("settle") },
  { name: "a release is not fenced", seenBy: ["I3", "I12"], make: unfenced("release") },
  { name: "a report is not fenced", seenBy: ["I3"], make: unfenced("report") },
  { name: "a renew is not fenced", seenBy: ["I3"], make: unfenced("renew") },
  { name: "a probe of an old attempt is believed", seenBy: ["I3", "I12"], make: unfenced("probed") },
  {
    name: "a life's token comes again after a purge",
    seenBy: ["I13"],
    make: (step) => (before, event, now) =>
      event.do === "begin"
        ? step(before, { ...event, fresh: { ...event.fresh, inc: "life1" } }, now)
        : step(before, event, now),
  },
  {
    name: "a later attempt keeps the first one's number",
    seenBy: ["I13"],
    make: storing((after, event) => (event.do === "begin" && after.n > 1 ? { ...after, n: 1 } : after)),
  },
  {
    name: "an operator's word on an old effect is taken for the current one",
    seenBy: [],
    make: hearing("resolve", (event, before) => ({ ...event, effect: before.effect })),
  },
];

const running: readonly Mutant[] = [
  {
    name: "a lapsed lease grants again",
    seenBy: ["I1"],
    make: finding("in-flight", (record, event, now) =>
      event.do === "begin" && isOver(record, now) ? freed(record, now) : record,
    ),
  },
  {
    name: "an unknown outcome runs again",
    seenBy: ["I1"],
    make: judging("unknown", "begin", { onCrash: "retry" }),
  },
  {
    name: "a lost connection frees the key",
    seenBy: ["I1", "I12"],
    make: (step) => (before, event, now) =>
      event.do === "report"
        ? step(before, { do: "release", token: event.token, evidence: "status-list" }, now)
        : step(before, event, now),
  },
  {
    name: "a restart frees the key",
    seenBy: ["I1", "I12", "I15"],
    make: finding("in-flight", (record, event, now) => (event.do === "orphan" ? freed(record, now) : record)),
  },
  {
    name: "the nonce is ignored and the caller refused",
    seenBy: [],
    make: hearing("begin", (event) => ({ ...event, nonce: `${event.nonce}?` })),
  },
  {
    name: "the nonce of another caller gets the grant",
    seenBy: [],
    make: hearing("begin", (event, before) =>
      before.state === "in-flight" ? { ...event, nonce: before.nonce } : event,
    ),
  },
  {
    name: "a lease is renewed without limit",
    seenBy: [],
    make: (step) => (before, event, now) => {
      if (before.state !== "in-flight" || event.do !== "renew") return step(before, event, now);
      const made = step({ ...before, executionUntil: NEVER }, event, now);
      if (made.record.state !== "in-flight") return made;
      return { ...made, record: { ...made.record, executionUntil: before.executionUntil } };
    },
  },
  {
    name: "a lease waits for a clock that has gone back",
    seenBy: [],
    make: storing((after) => (after.state === "in-flight" ? { ...after, ahead: 0 } : after)),
  },
  {
    name: "a late settle is refused in unknown",
    seenBy: [],
    make: (step) => (before, event, now) =>
      before.state === "unknown" && event.do === "settle"
        ? { ...step(before, { do: "renew", token: event.token }, now), answer: { kind: "fenced" } }
        : step(before, event, now),
  },
  {
    name: "a stored answer is replaced by a later one",
    seenBy: ["I2"],
    make: storing((after, event, before) =>
      event.do === "settle" &&
      before.state === "settled" &&
      after.state === "settled" &&
      event.token.n === after.n
        ? { ...after, answer: event.answer }
        : after,
    ),
  },
  {
    name: "a new route's terms change a life that is running",
    seenBy: [],
    make: storing((after, event) => (event.do === "begin" ? { ...after, terms: event.fresh.terms } : after)),
  },
];

const asking: readonly Mutant[] = [
  {
    name: "a fingerprint is not checked",
    seenBy: ["I8"],
    make: hearing("begin", (event, before) => ({ ...event, fp: before.fp })),
  },
  {
    name: "a fingerprint is checked after the replay",
    seenBy: ["I8"],
    make: hearing("begin", (event, before) =>
      before.state === "settled" ? { ...event, fp: before.fp } : event,
    ),
  },
  {
    name: "a fingerprint is checked after in-flight",
    seenBy: [],
    make: hearing("begin", (event, before) =>
      before.state === "in-flight" ? { ...event, fp: before.fp } : event,
    ),
  },
  {
    name: "a caller who may not ask is told",
    seenBy: [],
    make: hearing("begin", (event) => ({ ...event, authorized: true })),
  },
  {
    name: "an unsealed none frees the key",
    seenBy: ["I12"],
    make: hearing("probed", ({ verdict, ...event }) => ({
      ...event,
      verdict: verdict.kind === "none" ? { kind: "none", sealed: true, ageMs: 0 } : verdict,
    })),
  },
  {
    name: "an unsealed none frees the key before the origin's delay is over",
    seenBy: ["I12"],
    make: judging("unknown", "probed", { probeDelayMs: 0 }),
  },
  {
    name: "the origin's delay is counted from the grant, not from the last moment of a dispatch",
    seenBy: [],
    make: finding("unknown", (record, event) =>
      event.do === "probed" ? { ...record, since: record.dispatchedAt } : record,
    ),
  },
  {
    name: "a probe's answer counts as of when it came, not of when it was asked for",
    seenBy: ["I12"],
    make: hearing("probed", ({ verdict, ...event }) => ({
      ...event,
      verdict: verdict.kind === "none" ? { ...verdict, ageMs: 0 } : verdict,
    })),
  },
  {
    name: "silence of the origin means none",
    seenBy: ["I12"],
    make: hearing("probed", ({ verdict, ...event }) => ({
      ...event,
      verdict: verdict.kind === "silent" ? { kind: "none", sealed: true, ageMs: 0 } : verdict,
    })),
  },
  {
    name: "one operator is enough",
    seenBy: ["I11", "I12"],
    make: hearing("resolve", (event) => ({ ...event, operatorsRequired: 1 })),
  },
  {
    name: "an operator confirms himself",
    seenBy: ["I11", "I12"],
    make: finding("unknown", (record, event) => {
      if (record.proposal.by === "nobody" || event.do !== "resolve") return record;
      const operators = record.proposal.operators.map(() => "somebody else");
      return { ...record, proposal: { ...record.proposal, operators } };
    }),
  },
  {
    name: "two operators who disagree are taken to agree",
    seenBy: ["I11", "I12"],
    make: finding("unknown", (record, event) =>
      record.proposal.by === "operators" && event.do === "resolve"
        ? { ...record, proposal: { ...record.proposal, outcome: event.outcome } }
        : record,
    ),
  },
];

const ending: readonly Mutant[] = [
  {
    name: "time ends an unknown outcome",
    seenBy: ["I9"],
    make: (step) => (before, event, now) => {
      const isOld = before.state === "unknown" && before.since + before.terms.windowMs <= now;
      return step(isOld ? ABSENT : before, event, now);
    },
  },
  {
    name: "the window is counted from the grant",
    seenBy: ["I9"],
    make: storing((after, event) =>
      after.state === "settled" && event.do === "settle"
        ? { ...after, settledAt: after.dispatchedAt }
        : after,
    ),
  },
  { name: "the window never ends", seenBy: [], make: judging("settled", "begin", { windowMs: NEVER }) },
  {
    name: "the quarantine is left out",
    seenBy: ["I9", "I10"],
    make: (step) => (before, event, now) =>
      judging("settled", "tick", { quarantineMs: 0 })(judging("settled", "begin", { quarantineMs: 0 })(step))(
        before,
        event,
        now,
      ),
  },
  {
    name: "a purge forgets undelivered entries",
    seenBy: ["I9"],
    make: (step) => (before, event, now) => {
      const made = before.state === "absent" || event.do !== "tick" ? null : step(forget(before), event, now);
      return made?.record.state === "absent" ? made : step(before, event, now);
    },
  },
  {
    name: "a new life forgets undelivered entries",
    seenBy: ["I9"],
    make: storing((after, event, before) =>
      event.do === "begin" && before.state !== "absent" && before.inc !== after.inc
        ? { ...after, outbox: after.outbox.slice(-1) }
        : after,
    ),
  },
  {
    name: "an acknowledgement clears what came after it",
    seenBy: ["I5"],
    make: storing((after, event) => (event.do === "acknowledge" ? forget(after) : after)),
  },
  {
    name: "a record's time follows the clock back",
    seenBy: ["I14"],
    make: storing((after, _event, before, now) => (before.state === "absent" ? after : { ...after, t: now })),
  },
  {
    name: "nothing wakes an unknown outcome",
    seenBy: ["L"],
    make: (step) => (before, event, now) => {
      const made = step(before, event, now);
      return made.record.state === "unknown" ? { ...made, alarm: null } : made;
    },
  },
  {
    name: "a transition leaves no entry",
    seenBy: ["I15"],
    make: (step) => (before, event, now) => {
      const made = step(before, event, now);
      return { ...made, entries: made.entries.filter(({ type }) => type !== "unknown") };
    },
  },
];

const telling: readonly Mutant[] = [
  {
    name: "a fenced settle is forgotten",
    seenBy: ["told"],
    make: (step) => (before, event, now) => {
      const made = step(before, event, now);
      const isLate = event.do === "settle" && made.answer.kind === "fenced";
      return isLate && made.record.state === before.state ? { ...made, record: before, entries: [] } : made;
    },
  },
  {
    name: "a late settle is told of the wrong effect",
    seenBy: ["I15"],
    make: hearing("settle", (event, before) => ({ ...event, effect: before.effect })),
  },
];

export const MUTANTS: readonly Mutant[] = [...fencing, ...running, ...asking, ...ending, ...telling];
