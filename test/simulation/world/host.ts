/**
 * One Durable Object: its durable state, the instance that lives in it, its alarm, and the calls that are under way. As on the platform
 * one instance at a time may use the storage; an older one may go on running until it touches it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type Clock, OUTSIDE, Process, type Scheduler, type Task } from "./scheduler.ts";
import { EMPTY, type Image, SimStorage } from "./store.ts";

type Outlet = () => void;

/** What a class of objects is to its host. */
export type Served = Record<string, (...given: never[]) => unknown> & { alarm: () => Promise<void> };

/** Who asked: which method, with which token, for the observer of the store. */
export type Cause = { method: string; given: readonly unknown[] };

/** Calls of one object interleave: whose work writes is told by the work, not by which call came last. */
export const CAUSES = new AsyncLocalStorage<Cause>();

export type Answer = { kind: "value"; value: unknown } | { kind: "error"; error: unknown };

/** What can go wrong at a host, asked each time it could. */
export type HostFaults = {
  storageRefuses: () => boolean;
  crashesBeforeCommit: () => boolean;
  /** Null: it lives. `kept`: what it has just written is durable already. */
  crashesAfterCommit: () => { kept: boolean } | null;
  flushMs: () => number;
  alarmLateMs: () => number;
  alarmTwiceMs: () => number | null;
  alarmIsLost: () => boolean;
  copies: boolean;
};

export type HostParts = {
  scheduler: Scheduler;
  faults: HostFaults;
  start: (context: unknown, instance: Instance) => Served;
  version: () => number;
  /** Gives what the observer notes down once the change is durable. */
  changed: (host: Host, instance: Instance, before: Image, after: Image) => () => void;
  /** The alarm's handler begins. */
  rang: (host: Host) => void;
  mark: (name: string) => void;
  epoch: number;
};

export class Crash extends Error {
  readonly durableObjectReset = true;
}

export class Instance extends Process {
  readonly storage: SimStorage;
  object: Served | null = null;
  isFenced = false;
  isRinging = false;
  readonly open = new Set<(answer: Answer) => void>();
  readonly #held: Outlet[] = [];
  /** What was changed and is not yet durable, for the observer: a crash makes it as if it had never been. */
  readonly #unseen: (() => void)[] = [];
  #isDirty = false;
  readonly #host: Host;

  constructor(host: Host, number: number, version: number) {
    super(`${host.name}#${number}`, host.clock, version);
    this.#host = host;
    const watch = {
      touch: () => this.#touch(),
      begin: () => host.beginTransaction(this),
      commit: () => host.commitTransaction(this),
      changed: (before: Image, after: Image) => this.#changed(before, after),
    };
    this.storage = new SimStorage(host.durable, watch, host.parts.faults.copies);
  }

  #touch(): void {
    if (!this.isAlive) throw new Crash("the instance is gone");
    if (this.isFenced) throw new Crash("another instance has taken over");
  }

  #changed(before: Image, after: Image): void {
    const { parts } = this.#host;
    this.#unseen.push(parts.changed(this.#host, this, before, after));
    this.#flushSoon();
    const crash = parts.faults.crashesAfterCommit();
    if (crash === null) return;
    if (crash.kept) this.flush();
    parts.mark(crash.kept ? "crash after commit and keep it" : "crash after commit and lose it");
    this.#host.crash();
  }

  #flushSoon(): void {
    if (this.#isDirty) return;
    this.#isDirty = true;
    const { scheduler, faults } = this.#host.parts;
    scheduler.after(faults.flushMs(), this, "flush", () => this.flush());
  }

  /** The handler of the alarm has ended: the alarm that rang is deleted, unless another one has been set. */
  settleAlarm(): void {
    if (!this.isAlive || this.isFenced) return;
    const { image } = this.storage;
    if (image.isRinging) this.storage.image = { ...image, alarm: null, isRinging: false };
    if (this.storage.image.alarm !== this.#host.durable.alarm) this.#flushSoon();
    else this.#host.plan();
  }

  /** What was written is durable; what waited for that leaves. */
  flush(): void {
    if (!this.isAlive || this.isFenced) return;
    this.#isDirty = false;
    this.#host.keep(this.storage.image);
    for (const see of this.#unseen.splice(0)) see();
    for (const outlet of this.#held.splice(0)) outlet();
  }

  override emit(act: Outlet): void {
    if (!this.isAlive) return;
    if (this.#isDirty) this.#held.push(act);
    else act();
  }

  get isIdle(): boolean {
    return this.open.size === 0 && !this.#isDirty && !this.isRinging;
  }
}

export class Host {
  readonly name: string;
  readonly clock: Clock;
  readonly parts: HostParts;
  durable: Image = EMPTY;
  instance: Instance | null = null;
  /** The platform has lost an alarm, and none has been set since. */
  isAlarmLost = false;
  #number = 0;
  #alarm: Task | null = null;

  constructor(name: string, clock: Clock, parts: HostParts) {
    this.name = name;
    this.clock = clock;
    this.parts = parts;
  }

  /** The living instance, made now if there is none. */
  wake(): Instance {
    if (this.instance !== null) return this.instance;
    this.#number += 1;
    const made = new Instance(this, this.#number, this.parts.version());
    this.instance = made;
    const context = {
      id: { name: this.name, toString: () => this.name },
      storage: made.storage,
      waitUntil: (work: Promise<unknown>) => void work.catch(() => undefined),
    };
    this.parts.scheduler.enter(made, () => {
      made.object = this.parts.start(context, made);
    });
    return made;
  }

  /** Runs a method in the object. `answer` is called once, after everything that was written before is durable. */
  call(method: string, given: readonly unknown[], answer: (answer: Answer) => void): void {
    const instance = this.wake();
    instance.open.add(answer);
    const act = (): void => {
      const end = (how: Answer): void => {
        instance.emit(() => {
          if (instance.open.delete(answer)) answer(how);
        });
      };
      void CAUSES.run({ method, given }, () => invoke(instance, method, given)).then(
        (value) => end({ kind: "value", value }),
        (error) => end({ kind: "error", error }),
      );
    };
    if (instance.pausedUntil > this.parts.scheduler.now) {
      this.parts.scheduler.after(0, instance, method, act);
    } else {
      this.parts.scheduler.enter(instance, act);
    }
  }

  beginTransaction(_instance: Instance): void {
    if (this.parts.faults.storageRefuses()) {
      this.parts.mark("storage refuses");
      throw new Error("disk I/O error");
    }
  }

  commitTransaction(_instance: Instance): void {
    if (!this.parts.faults.crashesBeforeCommit()) return;
    this.parts.mark("crash before commit");
    this.crash();
    throw new Crash("the instance was ended");
  }

  /** Ends the instance: its memory, its timers, what it has not yet said and what is not yet durable. */
  crash(): void {
    const { instance } = this;
    if (instance === null) return;
    instance.isAlive = false;
    this.#leave(instance);
  }

  /** Another instance takes over. The old one runs on until it touches storage. */
  fence(): void {
    const { instance } = this;
    if (instance === null) return;
    instance.isFenced = true;
    this.#leave(instance);
  }

  #leave(instance: Instance): void {
    this.instance = null;
    for (const answer of instance.open) answer({ kind: "error", error: new Crash("the object was reset") });
    instance.open.clear();
    this.plan();
  }

  keep(image: Image): void {
    // An alarm that has rung and was set again to the same time rings again.
    const isMoved = image.alarm !== this.durable.alarm || (this.#alarm === null && !image.isRinging);
    // Whether the handler runs is known to the instance only: another one finds the alarm as it stands.
    this.durable = image.isRinging ? { ...image, isRinging: false } : image;
    if (image.alarm !== null) this.isAlarmLost = false;
    if (isMoved) this.plan();
  }

  /** Plans the alarm as it is durable: a moved clock does not move a timer that runs. */
  plan(): void {
    if (this.#alarm !== null) this.#alarm.act = null;
    this.#alarm = null;
    const { alarm } = this.durable;
    if (alarm === null) return;
    const due = alarm - this.parts.epoch - this.clock.offset;
    this.ring(due + this.parts.faults.alarmLateMs());
  }

  /** The platform lets the alarm ring at a time, whether it stands then or not. */
  ring(at: number): void {
    this.#alarm = this.parts.scheduler.at(at, OUTSIDE, `alarm ${this.name}`, () => this.#ringNow());
  }

  /** One that comes while the instance stands still waits with it. */
  #ringOnceUp(instance: Instance): void {
    const { scheduler } = this.parts;
    if (this.#alarm !== null) this.#alarm.act = null;
    this.#alarm = scheduler.at(scheduler.now, instance, `alarm ${this.name}`, () => this.#ringNow());
  }

  #ringNow(): void {
    const { faults, mark, scheduler } = this.parts;
    const instance = this.instance;
    if (instance !== null && instance.pausedUntil > scheduler.now) {
      this.#ringOnceUp(instance);
      return;
    }
    if (faults.alarmIsLost()) {
      mark("alarm lost");
      this.isAlarmLost = true;
      this.durable = { ...this.durable, alarm: null };
      this.crash();
      return;
    }
    const again = faults.alarmTwiceMs();
    if (again !== null) {
      mark("alarm again");
      scheduler.after(again, OUTSIDE, `alarm again ${this.name}`, () => this.ringAnyway());
    }
    this.ringAnyway();
  }

  /** Runs the handler. The alarm that rang is durable until the handler has ended: stopped before, it rings again. */
  ringAnyway(): void {
    const { scheduler } = this.parts;
    const instance = this.wake();
    if (instance.pausedUntil > scheduler.now) {
      this.#ringOnceUp(instance);
      return;
    }
    if (instance.isRinging || instance.object === null) return;
    instance.isRinging = true;
    this.parts.rang(this);
    if (this.#alarm !== null) this.#alarm.act = null;
    this.#alarm = null;
    instance.storage.image = { ...instance.storage.image, isRinging: true };
    scheduler.enter(instance, () => {
      void CAUSES.run({ method: "alarm", given: [] }, () => invoke(instance, "alarm", [])).then(
        () => {
          instance.isRinging = false;
          instance.settleAlarm();
        },
        () => {
          instance.isRinging = false;
          instance.storage.image = { ...instance.storage.image, isRinging: false };
          if (instance.isAlive && !instance.isFenced) this.ring(scheduler.now + 2_000);
        },
      );
    });
  }
}

async function invoke(instance: Instance, method: string, given: readonly unknown[]): Promise<unknown> {
  const act = instance.object?.[method];
  if (act === undefined) throw new TypeError(`no such method: ${method}`);
  return act.apply(instance.object, given as never[]);
}
