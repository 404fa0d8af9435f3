/** The Workers in front: isolates that clients' requests come to. One that dies is followed by another. */
import type { Datum } from "../check/history.ts";
import type { Client } from "./client.ts";
import type { Front } from "./deployment.ts";
import type { Fault, Injector } from "./faults.ts";
import type { SimRequest, SimResponse } from "./http.ts";
import type { Network } from "./network.ts";
import type { Random } from "./random.ts";
import { type Clock, Process, type Scheduler } from "./scheduler.ts";

export class Isolate extends Process {
  readonly front: Front;
  /** What becomes of the requests that are under way if the isolate dies. */
  readonly open = new Set<() => void>();

  constructor(name: string, clock: Clock, version: number, front: Front) {
    super(name, clock, version);
    this.front = front;
  }
}

export type WorkersParts = {
  scheduler: Scheduler;
  random: Random;
  injector: Injector;
  network: Network;
  version: () => number;
  clock: () => Clock;
  openFront: (version: number) => Front;
  note: (row: Datum) => void;
};

const HOP_MS_MAX = 80;
const BREAK_MS_MAX = 200;

export class Workers {
  readonly isolates: Isolate[] = [];
  readonly #parts: WorkersParts;
  #made = 0;

  constructor(parts: WorkersParts, count: number) {
    this.#parts = parts;
    for (let i = 0; i < count; i++) this.isolates.push(this.#open());
  }

  #open(): Isolate {
    const { clock, version, openFront } = this.#parts;
    this.#made += 1;
    return new Isolate(`worker${this.#made}`, clock(), version(), openFront(version()));
  }

  crash(index: number): void {
    const isolate = this.isolates[index];
    if (isolate === undefined) return;
    isolate.isAlive = false;
    for (const fail of isolate.open) fail();
    this.isolates[index] = this.#open();
  }

  /** A client's request on its way to one of the isolates, and the answer back. */
  send(
    client: Client,
    request: SimRequest,
    answered: (response: SimResponse) => void,
    lost: () => void,
  ): void {
    const { scheduler, random, injector, network, note } = this.#parts;
    const fail = (): void =>
      void scheduler.after(random.below(BREAK_MS_MAX), client.process, "line lost", lost);
    const strikes = (fault: Fault): boolean => injector.strikes(fault);
    const isolate = this.isolates[random.below(this.isolates.length)];
    if (isolate === undefined || strikes("client request lost")) {
      fail();
      return;
    }
    scheduler.after(random.below(HOP_MS_MAX), isolate, "request", () => {
      isolate.open.add(fail);
      void isolate.front.fetch(request).then(
        (response) => {
          if (!isolate.open.delete(fail)) return;
          if (strikes("client reply lost")) return fail();
          const carried = network.carry(isolate, client.process, response as SimResponse);
          scheduler.after(random.below(HOP_MS_MAX), client.process, "answer", () => answered(carried));
        },
        (error) => {
          note({ do: "defect", text: `a Worker threw: ${String(error)}` });
          fail();
        },
      );
    });
  }
}
