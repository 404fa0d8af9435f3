/** Rows of tamper tests: what was done, and what is found by a reader without a key, with the key, and with key and pin file. */
import { describe, expect, it } from "vitest";
import { readDatabase, verifyLedger } from "../../../src/verify/verify.mjs";
import { Ledger } from "./tampering.ts";

type Found = string;
export type Row = [
  what: string,
  tamper: (ledger: Ledger) => void,
  found: Found | [nothing: Found, key: Found, pin: Found],
];

export const SOUND = "sound";
export const flipStream = (line: string) =>
  line.replace(/"stream":"(.)/, (_, digit) => `"stream":"${digit === "0" ? "1" : "0"}`);
export const flipEffect = (line: string) =>
  line.replace(/"effect_id":"(.)/, (_, digit) => `"effect_id":"${digit === "0" ? "1" : "0"}`);
export const flipTime = (line: string) =>
  line.replace(/"at":(\d*)(\d)/, (_, head, digit) => `"at":${head}${digit === "0" ? "1" : "0"}`);
export const flipDigit = (hex: string) => (hex.startsWith("0") ? "1" : "0") + hex.slice(1);
export const swapLines = (lines: string[], a: number, b: number) =>
  lines.with(a, lines[b] ?? "").with(b, lines[a] ?? "");

async function find(ledger: Ledger, trust: "nothing" | "key" | "pin", sound: Ledger): Promise<Found> {
  const key = trust === "nothing" ? null : ledger.log.key.vkey;
  const { pin } = await verifyLedger(readDatabase(sound.database), { key: ledger.log.key.vkey });
  const { verdict } = await verifyLedger(readDatabase(ledger.database), {
    key,
    pin: trust === "pin" ? pin : null,
  });
  if (verdict.verdict !== "broken") return verdict.verdict;
  return `${verdict.first.class} ${verdict.first.index}`;
}

export function describeRows(title: string, make: () => Ledger, rows: Row[]): void {
  describe(title, () => {
    it.each(rows)("%s", async (_what, tamper, found) => {
      const ledger = make();
      tamper(ledger);
      const sound = new Ledger(ledger.log);

      const seen = [];
      for (const trust of ["nothing", "key", "pin"] as const) seen.push(await find(ledger, trust, sound));

      expect(seen).toEqual(typeof found === "string" ? [found, found, found] : found);
    });
  });
}
