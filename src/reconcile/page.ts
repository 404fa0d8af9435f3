/** The findings of one page, a few at a time. None can hold up the others for longer than its time, or take the page down with it. */
import { FINDING_MS_MAX } from "../core/limits.ts";
import { type Finding, type JudgedFinding, judge, type Learned } from "../core/reconcile/finding.ts";
import type { Work } from "../core/reconcile/ports.ts";
import type { Time } from "./lease.ts";

export type HandledPage = {
  verdicts: readonly JudgedFinding[];
  handled: number;
  failed: number;
  /** False: it was stopped before every finding had its turn. */
  isWhole: boolean;
};

export type Handling<Found extends Finding> = {
  work: Pick<Work<Found>, "filter" | "handle">;
  concurrency: number;
  time: Time;
  /** Fires when nothing more may be done. */
  stop: AbortSignal;
  onFailed: (finding: Found, code: string) => void;
};

/** Never rejects. */
export async function handlePage<Found extends Finding>(
  findings: readonly Found[],
  handling: Handling<Found>,
): Promise<HandledPage> {
  const { concurrency, time, stop, onFailed } = handling;
  const done = { verdicts: [] as JudgedFinding[], handled: 0, failed: 0, isWhole: true };
  let turn = 0;
  const lane = async (): Promise<void> => {
    for (;;) {
      const finding = findings[turn];
      turn += 1;
      if (finding === undefined) return;
      const learned = stop.aborted ? "stopped" : await handleOne(finding, handling);
      if (learned === "passed") continue;
      if (learned === "stopped") {
        done.isWhole = false;
        return;
      }
      done.verdicts.push(judge(finding, learned, time.now()));
      if (learned.kind === "failed") done.failed += 1;
      else done.handled += 1;
      if (learned.kind === "failed") onFailed(finding, learned.code);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return done;
}

async function handleOne<Found extends Finding>(
  finding: Found,
  { work, time, stop }: Handling<Found>,
): Promise<Learned | "passed" | "stopped"> {
  const ended = new AbortController();
  const over = AbortSignal.any([stop, ended.signal]);
  try {
    if (!work.filter(finding, time.now())) return "passed";
    const late = time
      .pause(FINDING_MS_MAX, over)
      .then((): Learned | "stopped" =>
        stop.aborted ? "stopped" : { kind: "failed", code: "took-too-long" },
      );
    return await Promise.race([work.handle(finding, over), late]);
  } catch {
    return stop.aborted ? "stopped" : { kind: "failed", code: "thrown" };
  } finally {
    ended.abort();
  }
}
