/**
 * What must be true of the ledger of a run, by what others saw: nothing acknowledged is lost, nothing is there twice, and
 * every checkpoint that anybody was shown still holds. Pure, like the rules about keys.
 */
import type { Violation } from "./checker.ts";
import {
  type Fact,
  type History,
  isSuccess,
  isUnknown,
  type Operation,
  selectFacts,
  type Told,
} from "./history.ts";

/** Entries of which an attempt has at most one. */
const ONCE = ["granted", "settled", "released", "purged"];

export const LEDGER_RULE_NAMES = [
  "ledger-unsound",
  "ledger-shrunk",
  "checkpoint-forgotten",
  "entry-missing",
  "entry-twice",
  "entry-contradicts",
  "outbox-left",
] as const;

type LedgerRule = (typeof LEDGER_RULE_NAMES)[number];

/** Everything that is wrong with the ledger; none where every promise was kept. */
export function checkLedger(history: History): Violation[] {
  return [...checkVerdicts(history.facts), ...checkCheckpoints(history.facts), ...checkEntries(history)];
}

function violation(rule: LedgerRule, key: string, text: string): Violation {
  return { rule, key, text };
}

/** The verifier finds nothing, after any kill, and what it has seen never gets less. */
function checkVerdicts(facts: readonly Fact[]): Violation[] {
  const most = new Map<string, number>();
  return selectFacts(facts, "verified").flatMap(({ kill, verdict, sizes }) => {
    const at = `after kill ${kill}`;
    if (verdict !== "sound") return [violation("ledger-unsound", at, verdict)];
    const shrunk = [...most].filter(([shard, size]) => (sizes[shard] ?? 0) < size);
    for (const [shard, size] of Object.entries(sizes)) most.set(shard, size);
    return shrunk.map(([shard, size]) =>
      violation("ledger-shrunk", at, `shard ${shard} had ${size} entries and has ${sizes[shard] ?? 0}`),
    );
  });
}

/** Whoever was shown a checkpoint finds it again, with the same root. */
function checkCheckpoints(facts: readonly Fact[]): Violation[] {
  const name = ({ shard, size }: { shard: string; size: number }): string => `${shard} of ${size} entries`;
  const kept = new Map(selectFacts(facts, "kept").map((fact) => [name(fact), fact.root]));
  return selectFacts(facts, "shown")
    .filter(({ size }) => size > 0)
    .filter((fact) => kept.get(name(fact)) !== fact.root)
    .map((fact) => violation("checkpoint-forgotten", "ledger", `${name(fact)} was shown as ${fact.root}`));
}

type Account = {
  operation: Operation;
  effects: Set<string>;
  last: Told | null;
  seen: Looked | null;
  isExecuted: boolean;
};
type Looked = { state: string | null; toTell: number };

/** Also used while entries are still on their way: none is left when this finds nothing. */
export function checkEntries(history: History): Violation[] {
  const types = new Map<string, string[]>();
  const streams = new Map<string, string>();
  const lengths = new Map<string, number>();
  for (const { stream, effect, type } of selectFacts(history.facts, "entered")) {
    const known = types.get(effect);
    if (known === undefined) types.set(effect, [type]);
    else known.push(type);
    streams.set(effect, stream);
    lengths.set(stream, (lengths.get(stream) ?? 0) + 1);
  }
  const log: Log = { types, lengthOf: (effect) => lengths.get(streams.get(effect) ?? "") ?? 0 };
  const accounts = listAccounts(history);
  const repeated = [...types].flatMap(([effect, all]) =>
    ONCE.filter((type) => all.filter((each) => each === type).length > 1).map((type) =>
      violation("entry-twice", effect, `it is ${type} more than once`),
    ),
  );
  return [...repeated, ...accounts.flatMap((account) => checkAccount(account, log))];
}

function listAccounts({ operations, facts }: History): Account[] {
  const accounts = new Map<string, Account>();
  for (const operation of operations) {
    accounts.set(operation.key, { operation, effects: new Set(), last: null, seen: null, isExecuted: false });
  }
  for (const fact of facts) {
    const account = "key" in fact ? accounts.get(fact.key) : undefined;
    if (account === undefined) continue;
    if (fact.kind === "arrived") account.effects.add(fact.effect);
    if (fact.kind === "executed") account.isExecuted = true;
    if (fact.kind === "told") account.last = fact.told;
    if (fact.kind === "looked") {
      account.seen = fact;
      for (const effect of fact.effects) account.effects.add(effect);
    }
  }
  return [...accounts.values()];
}

/** `lengthOf`: entries in the stream of an attempt. */
type Log = { types: ReadonlyMap<string, readonly string[]>; lengthOf: (effect: string) => number };

function checkAccount(account: Account, { types, lengthOf }: Log): Violation[] {
  const { operation, effects, last, seen, isExecuted } = account;
  const { key } = operation;
  const has = (type: string): number =>
    [...effects].filter((effect) => types.get(effect)?.includes(type) === true).length;
  const found: Violation[] = [...effects]
    .filter((effect) => types.get(effect)?.includes("granted") !== true)
    .map((effect) => violation("entry-missing", key, `attempt ${effect} was never granted`));
  const isSettled = last !== null && isSuccess(last);
  if (isSettled && has("settled") === 0) found.push(violation("entry-missing", key, "it was never settled"));
  if (has("settled") > 1) found.push(violation("entry-twice", key, "two attempts are settled"));
  if (last !== null && isUnknown(last) && has("unknown") === 0) {
    found.push(violation("entry-missing", key, "its outcome was never unknown"));
  }
  if (last !== null && isUnknown(last) && has("settled") > 0) {
    found.push(violation("entry-contradicts", key, "it is settled, and its client was told unknown"));
  }
  if (has("settled") > 0 && !isExecuted) {
    found.push(violation("entry-contradicts", key, "it is settled, and nothing was executed"));
  }
  if (operation.isBrief && seen?.state === null && has("purged") === 0) {
    found.push(violation("entry-missing", key, "its key is free, and it was never purged"));
  }
  const length = Math.max(0, ...[...effects].map(lengthOf));
  if (seen !== null && length < seen.toTell) {
    const text = `the ledger has ${length} of the ${seen.toTell} entries that it has told`;
    found.push(violation("outbox-left", key, text));
  }
  return found;
}
