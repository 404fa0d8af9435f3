/** The objects of a world: key objects and ledger shards, made when somebody calls them, and what an observer of their storage sees. */
import type { Datum, Shown } from "../check/history.ts";
import { NEXT_BUILD } from "./deeds.ts";
import type { Base, Deployment, Surroundings } from "./deployment.ts";
import type { Injector } from "./faults.ts";
import { START } from "./globals.ts";
import { CAUSES, Host, type HostParts, type Instance } from "./host.ts";
import type { SimRequest } from "./http.ts";
import { Random } from "./random.ts";
import type { Clock, Scheduler } from "./scheduler.ts";
import type { Image } from "./store.ts";
import { summarise, tokenIn } from "./watch.ts";

export type HostsParts = {
  seed: number;
  scheduler: Scheduler;
  injector: Injector;
  /** The build of a version. */
  product: (version: number) => Deployment;
  base: Base;
  around: () => Surroundings;
  version: () => number;
  clock: () => Clock;
  copies: boolean;
  /** A bundle of the ledger is full after a few lines. */
  hasSmallBundles: boolean;
  /** How many lines of a shard D1 has; null: it is no sink. */
  published: (shard: string) => number | null;
  note: (row: Datum) => void;
  mark: (name: string) => void;
};

const NOTHING = (): void => undefined;

export class Hosts {
  readonly keys = new Map<string, Host>();
  readonly ledgers = new Map<string, Host>();
  readonly quotas = new Map<string, Host>();
  /** Which key a host holds: learned from what it is asked to run. */
  readonly labels = new Map<Host, string>();
  readonly shown: Shown[] = [];
  /** What each shard has made durable. */
  readonly lines = new Map<string, { texts: string[]; ats: number[] }>();
  readonly #parts: HostsParts;

  constructor(parts: HostsParts) {
    this.#parts = parts;
  }

  all(): Host[] {
    return [...this.keys.values(), ...this.ledgers.values(), ...this.quotas.values()];
  }

  key(name: string): Host {
    const { product, base, around } = this.#parts;
    return this.#find(
      this.keys,
      name,
      (context, { version }) => {
        this.#noteMeeting(name, version);
        return product(version).openKeyObject(base, around(), version, context);
      },
      {
        changed: (host, instance, before, after) => this.#seeKey(host, instance, before, after),
        rang: (host) => this.#seeRing(host),
      },
    );
  }

  ledger(name: string): Host {
    const { product, around, hasSmallBundles } = this.#parts;
    // Its own stored form is the same in both builds, but for the size of a bundle, which has to stay what it is.
    const build = product(hasSmallBundles ? NEXT_BUILD : 0);
    return this.#find(this.ledgers, name, (context) => build.openLedgerObject(around(), context), {
      changed: (_host, _instance, before, after) => this.#seeLedger(name, before, after),
      rang: NOTHING,
    });
  }

  quota(name: string): Host {
    const { product } = this.#parts;
    return this.#find(
      this.quotas,
      name,
      (context, { version }) => product(version).openQuotaObject(context),
      {
        changed: () => NOTHING,
        rang: NOTHING,
      },
    );
  }

  #find(
    known: Map<string, Host>,
    name: string,
    start: HostParts["start"],
    seen: Pick<HostParts, "changed" | "rang">,
  ): Host {
    const found = known.get(name);
    if (found !== undefined) return found;
    const { scheduler, version, mark, clock } = this.#parts;
    const parts = { scheduler, epoch: START, start, ...seen, version, mark, faults: this.#faults() };
    const made = new Host(name, clock(), parts);
    known.set(name, made);
    return made;
  }

  /** An instance begins with a record that the other build has written. */
  #noteMeeting(name: string, version: number): void {
    const record = this.keys.get(name)?.durable.kv.get("record") as { v: number } | undefined;
    const isNext = version === NEXT_BUILD;
    if (record?.v === 2 && !isNext) this.#parts.mark("a build meets a record of the next one");
    if (record?.v === 1 && isNext) this.#parts.mark("a build meets a record of the one before");
  }

  #faults(): HostParts["faults"] {
    const { injector, seed, copies } = this.#parts;
    const random = new Random(seed, 5 + this.keys.size + this.ledgers.size + this.quotas.size);
    const crash = (): { kept: boolean } | null => {
      if (injector.strikes("crash after commit and keep it")) return { kept: true };
      return injector.strikes("crash after commit and lose it") ? { kept: false } : null;
    };
    return {
      storageRefuses: () => injector.strikes("storage refuses"),
      crashesBeforeCommit: () => injector.strikes("crash before commit"),
      crashesAfterCommit: crash,
      flushMs: () => random.below(8),
      alarmLateMs: () => (injector.strikes("alarm late") ? random.below(120_000) : random.below(20)),
      alarmTwiceMs: () => (injector.strikes("alarm again") ? random.below(5_000) : null),
      alarmIsLost: () => injector.strikes("alarm lost"),
      copies,
    };
  }

  #seeLedger(shard: string, before: Image, after: Image): () => void {
    const see = [this.#seeLines(shard, before, after), this.#seeShown(shard, before, after)];
    return () => {
      for (const act of see) act();
    };
  }

  #seeLines(shard: string, before: Image, after: Image): () => void {
    const row = after.tables?.staged.at(-1);
    if (row === undefined || row === before.tables?.staged.at(-1)) return NOTHING;
    return () => {
      const known = this.lines.get(shard) ?? { texts: [], ats: [] };
      this.lines.set(shard, known);
      for (const text of row.body.split("\n").slice(0, -1)) {
        known.texts.push(text);
        known.ats.push(this.#parts.scheduler.now);
      }
    };
  }

  #seeShown(shard: string, before: Image, after: Image): () => void {
    const shown = after.kv.get("published") as { size: number; root: string } | undefined;
    if (shown === undefined || shown === before.kv.get("published")) return NOTHING;
    const { scheduler, published } = this.#parts;
    const { size, root } = shown;
    return () => void this.shown.push({ shard, size, root, at: scheduler.now, published: published(shard) });
  }

  /** What the object did by a time that it has seen stays done when its clock goes back. */
  #seeRing(host: Host): void {
    const key = this.labels.get(host);
    const { scheduler, note } = this.#parts;
    if (key !== undefined) note({ do: "rang", key, clock: scheduler.now + host.clock.offset });
  }

  #labelOf(host: Host): string {
    const known = this.labels.get(host);
    if (known !== undefined) return known;
    const request = CAUSES.getStore()?.given[0] as SimRequest | undefined;
    const label = /"\/pay\/(k\d+)"/.exec(request?.headers?.get("oncegate") ?? "")?.[1];
    if (label === undefined) return "";
    this.labels.set(host, label);
    return label;
  }

  #seeKey(host: Host, instance: Instance, was: Image, is: Image): () => void {
    const [from, to] = [was.kv.get("record"), is.kv.get("record")];
    if (from === to) return NOTHING;
    const { scheduler, around, note } = this.#parts;
    const key = this.#labelOf(host);
    const seenFrom = scheduler.now;
    const clock = seenFrom + host.clock.offset;
    const [before, after] = [summarise(from), summarise(to)];
    const { method, given } = CAUSES.getStore() ?? { method: "", given: [] };
    const token = tokenIn(method, given);
    return () => {
      if (after !== null && after.state === "in-flight" && after.effect !== before?.effect) {
        const { windowMs, quarantineMs, executionMsMax, onCrash } = around().policyOf(instance.version);
        const rules = { windowMs, quarantineMs, executionMsMax, onCrash };
        note({ do: "granted", key, clock, seenFrom, effect: after.effect, rules });
      }
      const isNext = instance.version === NEXT_BUILD;
      note({ do: "stored", key, clock, method, token, before, after, reads: isNext ? 2 : 1 });
    };
  }
}
