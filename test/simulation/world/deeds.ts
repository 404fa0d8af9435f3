/** What the injector does at times of its own choosing, beside the faults that strike whatever happens. */
import type { Datum } from "../check/history.ts";
import type { Deed } from "./faults.ts";
import { forgeDelivery } from "./forgery.ts";
import type { Host } from "./host.ts";
import type { Origin } from "./origin.ts";
import type { Random } from "./random.ts";
import { PAUSE_MS_MAX, type Scenario } from "./scenario.ts";
import { OUTSIDE, type Scheduler } from "./scheduler.ts";
import type { Staff } from "./staff.ts";
import type { Isolate } from "./workers.ts";

/** Versions are 0, a first build with its settings; 1, the same with others; and this, the build that comes after it, with the latter. */
export const NEXT_BUILD = 2;

/** Of a record that no build here can read. */
const DISTANT_VERSION = 99;

/** What deeds change for the whole world. */
export type State = {
  version: number;
  clocks: { backMs: number; whose: Set<string> };
  isDatabaseDown: boolean;
  isLedgerDown: boolean;
};

export type Site = {
  scheduler: Scheduler;
  random: Random;
  scenario: Scenario;
  hosts: readonly Host[];
  keys: ReadonlyMap<string, Host>;
  ledgers: ReadonlyMap<string, Host>;
  /** Which keys the hosts hold, as far as that is known. */
  labels: ReadonlyMap<Host, string>;
  isolates: readonly Isolate[];
  crashIsolate: (index: number) => void;
  origin: Origin;
  staff: Staff;
  state: State;
  isHealed: () => boolean;
  note: (row: Datum) => void;
  mark: (name: string) => void;
};

export function doDeed(site: Site, deed: Deed): void {
  const { random, scheduler, state, isolates } = site;
  const host = site.hosts[random.below(site.hosts.length)] ?? null;
  const pauseMs = random.pick([2_000, 40_000, PAUSE_MS_MAX]) * (0.3 + 0.7 * random.next());
  const until = Math.ceil(scheduler.now + pauseMs);
  site.mark(deed);
  site.note({ do: "fault", name: deed });
  switch (deed) {
    case "pause object":
      host?.instance?.pause(until);
      return;
    case "pause worker": {
      const isolate = isolates[random.below(isolates.length)];
      isolate?.pause(until);
      return;
    }
    case "crash object":
      host?.crash();
      return;
    case "crash worker":
      site.crashIsolate(random.below(isolates.length));
      return;
    case "another instance":
      if (host?.instance && random.chance(0.5)) host.instance.pause(until);
      host?.fence();
      return;
    case "evict":
      host?.instance?.isIdle ? host.crash() : undefined;
      return;
    case "clock forward":
      moveClock(site, host, 1);
      return;
    case "clock back":
      moveClock(site, host, -1);
      return;
    case "origin restarts":
      site.origin.restart();
      return;
    case "new version":
      if (state.version !== NEXT_BUILD) state.version = 1;
      site.crashIsolate(0);
      return;
    case "next build":
      deployNext(site, random.next());
      if (random.chance(0.7))
        scheduler.after(random.between(1_000, 60_000), OUTSIDE, "taken back", () => takeBack(site));
      return;
    case "record of the future":
      visitFuture(site, host);
      return;
    case "forged delivery": {
      const shards = [...site.ledgers.values()];
      const shard = shards[random.below(shards.length)];
      if (shard) forgeDelivery(shard, site);
      return;
    }
    case "alarm early":
      host?.ringAnyway();
      return;
    case "database down":
      state.isDatabaseDown = true;
      return;
    case "ledger down":
      state.isLedgerDown = true;
      return;
    case "reconcile":
      site.staff.reconcile(until);
      return;
    case "operators speak":
      site.staff.speak(host, site.labels);
      return;
  }
}

/** A share of everything that runs is started anew at once; the rest stays what it is until it ends. */
export function deployNext({ state, hosts, isolates, crashIsolate, random }: Site, share: number): void {
  state.version = NEXT_BUILD;
  for (const [i, { version }] of isolates.entries())
    if (version !== NEXT_BUILD && random.next() < share) crashIsolate(i);
  for (const host of hosts) if (host.instance?.version !== NEXT_BUILD && random.next() < share) host.crash();
}

/** The build before comes back, and meets what the later one has written. */
function takeBack({ state, hosts, isolates, crashIsolate, isHealed, mark }: Site): void {
  if (state.version !== NEXT_BUILD || isHealed()) return;
  mark("next build taken back");
  state.version = 1;
  for (const [i, { version }] of isolates.entries()) if (version === NEXT_BUILD) crashIsolate(i);
  for (const host of hosts) if (host.instance?.version === NEXT_BUILD) host.crash();
}

/** The clock of an object, or of an isolate: how far it moves says whose, so that one draw does for both. */
function moveClock(
  { random, scenario, state, isolates, mark }: Site,
  host: Host | null,
  direction: 1 | -1,
): void {
  const { clockStepMs } = scenario;
  const drawn = random.pick([random.between(1, 50_000), random.between(1, clockStepMs)]);
  const step = Math.min(drawn, clockStepMs);
  const isolate = drawn % 5 === 0 ? isolates[Math.floor(drawn / 5) % isolates.length] : undefined;
  const whose = isolate ?? host;
  if (whose === null) return;
  if (isolate !== undefined) mark("clock of an isolate");
  whose.clock.offset += direction * step;
  state.clocks.whose.add(whose.name);
  if (direction < 0) state.clocks.backMs += step;
}

/** A later build has written the record, and is taken back a while later. */
function visitFuture({ scheduler, random, labels, note }: Site, host: Host | null): void {
  const record = host?.durable.kv.get("record") as { v: number } | undefined;
  const key = host === null ? undefined : labels.get(host);
  if (host === null || record === undefined || key === undefined) return;
  const put = (v: number): void => {
    const now = host.durable.kv.get("record") as object | undefined;
    if (now === undefined) return;
    host.crash();
    host.durable = { ...host.durable, kv: new Map(host.durable.kv).set("record", { ...now, v }) };
    note({ do: "future", key, isThere: v !== record.v });
  };
  host.crash();
  put(DISTANT_VERSION);
  scheduler.after(random.below(60_000), OUTSIDE, "back to the present", () => put(record.v));
}
