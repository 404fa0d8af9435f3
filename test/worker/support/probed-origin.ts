/** An origin that can be asked, answered by a test: payments, probes and seals apart. */
import { type Answerer, type Arrival, mockOrigin } from "./origin.ts";

export type ProbedOrigin = {
  /** In order; those of payments are executions or not, as the test says. */
  payments: Arrival[];
  probes: Arrival[];
  seals: Arrival[];
};

/** What the origin does; each without a word by default: the line is cut. */
export type Words = { pay?: Answerer; ask?: Answerer; seal?: Answerer };

export const cutLine: Answerer = () => {
  throw new TypeError("the line was cut");
};

export function say(outcome: unknown, status = 200): Answerer {
  return () => Response.json(outcome, { status });
}

/** An answer as an origin gives it to a probe. */
export function committed(text: string, headers: readonly (readonly [string, string])[] = []): Answerer {
  return say({ outcome: "committed", answer: { status: 201, headers, body: text } });
}

/** `number` counts the arrivals of one kind. `words` may be changed while the test runs. */
export function mockProbedOrigin(words: Words): ProbedOrigin {
  const origin: ProbedOrigin = { payments: [], probes: [], seals: [] };
  mockOrigin((arrival) => {
    const { pathname } = new URL(arrival.url);
    if (!pathname.startsWith("/effects/")) return take(origin.payments, arrival, words.pay);
    return arrival.method === "GET"
      ? take(origin.probes, arrival, words.ask)
      : take(origin.seals, arrival, words.seal);
  });
  return origin;
}

function take(arrivals: Arrival[], arrival: Arrival, answer: Answerer = cutLine) {
  arrivals.push(arrival);
  return answer(arrival, arrivals.length);
}
