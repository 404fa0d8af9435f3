/** Writes a history down as it happens, and lets a driver wait for what has to happen first. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Fact, History, Operation } from "./history.ts";

const POLL_MS = 1;

export class Recorder {
  readonly history: History = { operations: [], facts: [] };
  readonly #seen = new Set<string>();
  #calls = 0;

  add(operations: readonly Operation[]): void {
    this.history.operations.push(...operations);
  }

  note(fact: Fact): void {
    this.history.facts.push(fact);
    if ("key" in fact) this.#seen.add(`${fact.kind} ${fact.key}`);
  }

  /** A number no other call of this history has. */
  nextCall(): number {
    this.#calls += 1;
    return this.#calls;
  }

  has(kind: Fact["kind"], key: string): boolean {
    return this.#seen.has(`${kind} ${key}`);
  }

  /** Whether each of these operations has such a fact by now. */
  hasAll(kind: Fact["kind"], operations: readonly Operation[]): boolean {
    return operations.every(({ key }) => this.has(kind, key));
  }

  hasNone(kind: Fact["kind"], operations: readonly Operation[]): boolean {
    return operations.every(({ key }) => !this.has(kind, key));
  }

  /** True as soon as all of these operations have such a fact; false when that takes too long. */
  async waitForAll(kind: Fact["kind"], operations: readonly Operation[], msMax: number): Promise<boolean> {
    const endsAt = performance.now() + msMax;
    while (!this.hasAll(kind, operations)) {
      if (performance.now() > endsAt) return false;
      await sleep(POLL_MS);
    }
    return true;
  }
}
