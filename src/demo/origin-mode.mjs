/** How the demo origin behaves, read from a `Demo` header or from `POST /demo/switch`. */

const SLOW_MS_MAX = 120_000;

/** A payments API as it should be. */
export const NORMAL = { kind: "normal", text: "normal" };

/** What may be written, for messages. */
export const MODES = [
  "normal",
  "slow=MILLISECONDS",
  "fail-after-effect",
  "hang-before-effect",
  "hang-after-effect",
  "reset-after-effect",
  "refuse",
];

/**
 * Reads one mode: `slow=3000` waits before the payment is made (0 to 120,000 ms), `…-after-effect` makes the payment and
 * then answers 500, never answers, or resets the connection; `hang-before-effect` never answers and makes none; `refuse` answers
 * 429 and makes none.
 *
 * @param {unknown} text
 * @returns {{kind: "slow", ms: number, text: string} | {kind: string, text: string} | null} null when it is none of them
 */
export function readMode(text) {
  if (typeof text !== "string") return null;
  const word = text.trim();
  const slow = /^slow=(\d{1,6})$/.exec(word);
  if (slow !== null) {
    const ms = Number(slow[1]);
    return ms <= SLOW_MS_MAX ? { kind: "slow", ms, text: word } : null;
  }
  if (word === "refuse" || word === "refuse=429") return { kind: "refuse", text: "refuse" };
  return word !== "slow=MILLISECONDS" && MODES.includes(word) ? { kind: word, text: word } : null;
}
