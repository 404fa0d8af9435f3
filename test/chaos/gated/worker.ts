/**
 * The gateway as it is, with places at which it stands still. No part of it is in what is deployed: this Worker stands
 * before the product's own, and wraps what that one is wired from.
 */
import type { Env } from "../../../src/env.ts";
import { readAsk, readOperation } from "../../../src/key/wire.ts";
import product, {
  LedgerObject as ProductLedgerObject,
  KeyObject as ProductObject,
} from "../../../src/worker.ts";
import { gate, keyOfTarget } from "./gate.ts";
import { obey } from "./orders.ts";
import { breakObject, type Enrolled, enrolled, gateWiring, readMember } from "./wrap.ts";

export { QuotaObject } from "../../../src/worker.ts";

/** Paths of this Worker's own begin so. */
const OWN = "/_chaos/";

export class KeyObject extends ProductObject {
  #self: Enrolled | null = null;

  override async fetch(request: Request): Promise<Response> {
    await gateWiring(this.env);
    const key = keyOfTarget(readOperation(request).request.target);
    const runsAttempt = readAsk(request) === "submit";
    const self = this.#enroll(key, runsAttempt);
    await gate("begin-received", key);
    const response = await super.fetch(request);
    if (runsAttempt) await gate("settled", key);
    else if ((await gate("grant-unheard", key)) === "abort") return breakObject(self);
    return response;
  }

  override async settle(...args: Parameters<ProductObject["settle"]>): ReturnType<ProductObject["settle"]> {
    await gateWiring(this.env);
    const settling = await super.settle(...args);
    await gate("settled", this.#self?.key ?? null);
    return settling;
  }

  override async alarm(): Promise<void> {
    await gateWiring(this.env);
    await super.alarm();
  }

  ring(): Promise<void> {
    return ringEarly(this.ctx.storage);
  }

  break(): void {
    this.ctx.abort("the run has it so");
  }

  #enroll(key: string, runsAttempt: boolean): Enrolled {
    const self = { key, runsAttempt, abort: () => this.ctx.abort("the run has it so") };
    this.#self = self;
    enrolled.set(this.ctx.id.name ?? "", self);
    return self;
  }
}

export class LedgerObject extends ProductLedgerObject {
  override async append(
    ...args: Parameters<ProductLedgerObject["append"]>
  ): ReturnType<ProductLedgerObject["append"]> {
    await gateWiring(this.env);
    await gate("append-received", null);
    const appended = await super.append(...args);
    await gate("appended", null);
    return appended;
  }

  override async alarm(): Promise<void> {
    await gateWiring(this.env);
    await gate("round-begun", null);
    await super.alarm();
    await gate("shown", null);
  }

  ring(): Promise<void> {
    return ringEarly(this.ctx.storage);
  }

  break(): void {
    this.ctx.abort("the run has it so");
  }
}

/** An undelivered entry is looked after within a minute; an alarm that stands for later is for something else. */
const SOON_MS = 65_000;

/** An alarm may come early; one that nobody has armed for soon doesn't come. */
async function ringEarly(storage: DurableObjectStorage): Promise<void> {
  const due = await storage.getAlarm();
  if (due !== null && due <= Date.now() + SOON_MS) await storage.setAlarm(Date.now());
}

/** Bindings whose key objects can't be reached before the run lets them; the same ones for the same bindings. */
const gatedBindings = new WeakMap<Env, Env>();

function gateBindings(env: Env): Env {
  const known = gatedBindings.get(env);
  if (known !== undefined) return known;
  const KEYS = new Proxy(env.KEYS, {
    get: (objects, name) =>
      name === "getByName"
        ? (...args: Parameters<typeof objects.getByName>) => gateStub(objects.getByName(...args))
        : readMember(objects, name),
  });
  const gated = { ...env, KEYS };
  gatedBindings.set(env, gated);
  return gated;
}

function gateStub(stub: ReturnType<Env["KEYS"]["getByName"]>): typeof stub {
  const call = async (request: Request): Promise<Response> => {
    await gate("unclaimed", keyOfTarget(readOperation(request).request.target));
    return stub.fetch(request);
  };
  return new Proxy(stub, {
    get: (target, name) => (name === "fetch" ? call : Reflect.get(target, name)),
  });
}

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    const gated = gateBindings(env);
    await gateWiring(gated);
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(OWN)) return obey(pathname.slice(OWN.length).split("/"), env, ctx);
    const response = await product.fetch(request as Parameters<typeof product.fetch>[0], gated, ctx);
    if (request.method === "POST") await gate("answer-ready", keyOfTarget(pathname));
    return response;
  },
};
