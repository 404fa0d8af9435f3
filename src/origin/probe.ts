/**
 * Asks the origin what became of one attempt, at addresses that come from the configuration alone. What comes back is somebody
 * else's text: bounded in time and size, checked whole, and nothing learned where it is not what was agreed on.
 */
import { PROBE_BYTES_MAX, PROBE_FRAME_BYTES, PROBE_TIMEOUT_MS } from "../core/limits.ts";
import type { OriginAddress } from "../core/policy.ts";
import type { Asked, Attempt, NothingLearned, ProbePort, Voiding } from "../core/ports.ts";
import { startClock } from "./clock.ts";
import { originUrl, type Send } from "./dispatch.ts";
import type { OriginMacs } from "./evidence.ts";
import { type ProbeText, readProbeText } from "./probe-answer.ts";
import type { ProbeBudget } from "./probe-budget.ts";
import { readBody } from "./read-body.ts";

export type ProbeParts = {
  address: OriginAddress;
  send: Send;
  macs: OriginMacs;
  budget: ProbeBudget;
  /** The public id of the operation behind a key object's name. */
  operationId: (name: string) => Promise<string>;
};

type ProbeReading = ProbeText | { kind: "not-found" } | NothingLearned;

const SILENCE: NothingLearned = { kind: "unknown", why: "silence" };
const ILLEGIBLE: NothingLearned = { kind: "unknown", why: "illegible" };

export function openProbe(parts: ProbeParts): ProbePort {
  const { budget } = parts;
  /** Every question is counted, and whether it was answered properly. */
  const askCounted = async (...question: Parameters<typeof exchange>): Promise<ProbeReading> => {
    const said = await exchange(...question);
    budget.note(said.kind !== "unknown" || said.why === "said");
    return said;
  };
  return {
    async ask(attempt, rule, answerBytesMax): Promise<Asked> {
      if (!budget.take()) return { kind: "put-off" };
      const said = await askCounted(parts, "GET", rule.url, attempt, answerBytesMax);
      if (said.kind === "not-found") {
        return rule.notFound === "none" ? { kind: "none" } : { kind: "unknown", why: "said" };
      }
      // To be void is the word of one who was asked to void it.
      return said.kind === "void" ? ILLEGIBLE : said;
    },
    async seal(attempt, sealUrl, answerBytesMax): Promise<Voiding> {
      const said = await askCounted(parts, "POST", sealUrl, attempt, answerBytesMax);
      if (said.kind === "not-found") return SILENCE;
      return said.kind === "none" ? ILLEGIBLE : said;
    },
  };
}

async function exchange(
  parts: ProbeParts,
  method: "GET" | "POST",
  template: string,
  attempt: Attempt,
  answerBytesMax: number,
): Promise<ProbeReading> {
  const url = probeUrl(parts.address, template, attempt, await parts.operationId(attempt.name));
  if (url === null) return ILLEGIBLE;
  const stop = new AbortController();
  const clock = startClock(PROBE_TIMEOUT_MS, stop);
  try {
    const headers = await fieldsOf(parts.macs, attempt);
    // What was true when somebody else asked is no answer.
    const init = { method, headers, redirect: "manual", cache: "no-store", signal: clock.signal } as const;
    return await readAnswer(await parts.send(url, init), answerBytesMax);
  } catch {
    return SILENCE;
  } finally {
    clock.end();
    // Ends whatever of the answer was not read.
    stop.abort();
  }
}

async function fieldsOf(macs: OriginMacs, attempt: Attempt): Promise<Record<string, string>> {
  const signed = await macs.signProbe(attempt);
  return {
    Accept: "application/json",
    "Effect-Id": attempt.effect,
    "Effect-Attempt": String(attempt.n),
    ...(signed === null ? {} : { "Effect-Probe": signed }),
  };
}

async function readAnswer(response: Response, answerBytesMax: number): Promise<ProbeReading> {
  const { status } = response;
  if (status === 404) return { kind: "not-found" };
  if (status !== 200) return SILENCE;
  // Base64 makes four bytes of three.
  const most = Math.min(Math.ceil(answerBytesMax / 3) * 4 + PROBE_FRAME_BYTES, PROBE_BYTES_MAX);
  const read = await readBody(response, most);
  if (read.kind === "broken") return SILENCE;
  return read.kind === "over" ? ILLEGIBLE : (readProbeText(read.bytes) ?? ILLEGIBLE);
}

/** The address below the origin's own; null if what was put in led anywhere else. */
export function probeUrl(
  address: OriginAddress,
  template: string,
  { effect, n }: Attempt,
  operationId: string,
): string | null {
  const values: Readonly<Record<string, string>> = {
    "{effect_id}": effect,
    "{attempt}": String(n),
    "{operation_id}": operationId,
  };
  const target = template.replaceAll(/\{[a-z_]+\}/g, (name) => encodeURIComponent(values[name] ?? ""));
  const wanted = URL.parse(originUrl(address, "/"));
  const url = URL.parse(originUrl(address, target));
  if (wanted === null || url === null) return null;
  const isBelow = url.origin === wanted.origin && url.pathname.startsWith(wanted.pathname);
  return isBelow && url.username === "" && url.password === "" ? url.href : null;
}
