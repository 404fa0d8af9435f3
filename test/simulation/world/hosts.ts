/** The objects of a world: key objects and ledger shards, made when somebody calls them, and what an observer of their storage sees. */
import type { Datum, Shown } from "../check/history.ts";
import type { Base, Deployment, Surroundings } from "./deployment.ts";
import type { Injector } from "./faults.ts";
import { START } from "./globals.ts";
import { Host, type HostParts, type Instance } from "./host.ts";
import type { SimRequest } from "./http.ts";
import { Random } from "./random.ts";
import type { Clock, Scheduler } from "./scheduler.ts";
import type { Image } from "./store.ts";
import { summarise, tokenIn } from "./watch.ts";

export type HostsParts = {
  seed: number;
  scheduler: Scheduler;
  injector: Injector;
  product: Deployment;
  base: Base;
  around: () => Surroundings;
  version: () => number;
  clock: () => Clock;
  copies: boolean;
  /** How many lines of a shard D1 has; null: it is no sink. */
  published: (shard: string) => number | null;
  note: (row: Datum) => void;
  mark: (name: string) => void;
};

const NOTHING = (): void => undefined;

export class Hosts {
  readonly keys = new Map<string, Host>();
  readonly ledgers = new Map<string, Host>();
  /** Which key a host holds: learned from what it is asked to run. */
  readonly labels = new Map<Host, string>();
  readonly shown: Shown[] = [];
  readonly #parts: HostsParts;

  constructor(parts: HostsParts) {
    this.#parts = parts;
  }

  all(): Host[] {
    return [...this.keys.values(), ...this.ledgers.values()];
  }

  key(name: string): Host {
    const { product, base, around } = this.#parts;
    return this.#find(
      this.keys,
      name,
      (context, instance) => product.openKeyObject(base, around(), instance.version, context),
      (host, instance, before, after) => this.#seeKey(host, instance, before, after),
    );
  }

  ledger(name: string): Host {
    const { product, around } = this.#parts;
    return this.#find(
      this.ledgers,
      name,
      (context) => product.openLedgerObject(around(), context),
      (_host, _instance, before, after) => this.#seeLedger(name, before, after),
    );
  }

  #find(
    known: Map<string, Host>,
    name: string,
    start: HostParts["start"],
    changed: HostParts["changed"],
  ): Host {
    const found = known.get(name);
    if (found !== undefined) return found;
    const { scheduler, version, mark, clock } = this.#parts;
    const parts = { scheduler, epoch: START, start, changed, version, mark, faults: this.#faults() };
    const made = new Host(name, clock(), parts);
    known.set(name, made);
    return made;
  }

  #faults(): HostParts["faults"] {
    const { injector, seed, copies } = this.#parts;
    const random = new Random(seed, 5 + this.keys.size + this.ledgers.size);
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
    const shown = after.kv.get("published") as { size: number; root: string } | undefined;
    if (shown === undefined || shown === before.kv.get("published")) return NOTHING;
    const { scheduler, published } = this.#parts;
    const { size, root } = shown;
    return () => void this.shown.push({ shard, size, root, at: scheduler.now, published: published(shard) });
  }

  #labelOf(host: Host, instance: Instance): string {
    const known = this.labels.get(host);
    if (known !== undefined) return known;
    const request = instance.cause?.given[0] as SimRequest | undefined;
    const label = /"\/pay\/(k\d+)"/.exec(request?.headers?.get("oncegate") ?? "")?.[1];
    if (label === undefined) return "";
    this.labels.set(host, label);
    return label;
  }

  #seeKey(host: Host, instance: Instance, was: Image, is: Image): () => void {
    const [from, to] = [was.kv.get("record"), is.kv.get("record")];
    if (from === to) return NOTHING;
    const { scheduler, around, note } = this.#parts;
    const key = this.#labelOf(host, instance);
    const seenFrom = scheduler.now;
    const clock = seenFrom + host.clock.offset;
    const [before, after] = [summarise(from), summarise(to)];
    const method = instance.cause?.method ?? "";
    const token = instance.cause === null ? null : tokenIn(method, instance.cause.given);
    return () => {
      if (after !== null && after.state === "in-flight" && after.effect !== before?.effect) {
        const { windowMs, quarantineMs, executionMsMax, onCrash } = around().policyOf(instance.version);
        const rules = { windowMs, quarantineMs, executionMsMax, onCrash };
        note({ do: "granted", key, clock, seenFrom, effect: after.effect, rules });
      }
      note({ do: "stored", key, clock, method, token, before, after });
    };
  }
}
