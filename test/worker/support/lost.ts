/** Operations whose outcome is unknown, on routes whose origin can be asked. */
import { expectProblem, makeKey, operationOf, post } from "./gateway.ts";
import { type KeyStub, keyObject } from "./object.ts";
import { cutLine, mockProbedOrigin, type ProbedOrigin, type Words } from "./probed-origin.ts";

/** `words` may be changed while the test runs. */
export type Lost = { origin: ProbedOrigin; words: Words; key: string; operation: string; stub: KeyStub };

/** A payment whose answer was lost. From then on the origin does as `words` say. */
export async function losePayment(route: string, words: Words): Promise<Lost> {
  const live: Words = { pay: cutLine };
  const origin = mockProbedOrigin(live);
  const key = makeKey();
  const first = await post(`/${route}`, key);
  const operation = operationOf(first);
  await expectProblem(first, "outcome-unknown", 502);
  Object.assign(live, words);
  return { origin, words: live, key, operation, stub: keyObject(operation) };
}
