/** Reads what an origin answers to a probe or a seal. Whatever is not exactly what was agreed on is nothing. */
import { decodeUtf8 } from "../core/bytes.ts";
import { readStrictJson } from "../core/fingerprint/json.ts";
import { readGivenAnswer } from "../core/http/given-answer.ts";
import type { Committed, NothingLearned } from "../core/ports.ts";

export type ProbeText = Committed | { kind: "none" } | { kind: "void" } | NothingLearned;

/** Null: not what was agreed on, or a member is there twice. Members that nobody knows are left out. */
export function readProbeText(bytes: Uint8Array): ProbeText | null {
  const reading = readStrictJson(decodeUtf8(bytes) ?? "");
  if (reading.kind !== "json" || !isTable(reading.value)) return null;
  const said = reading.value;
  switch (said.outcome) {
    case "committed": {
      if (said.answer === undefined || said.answer === null) return { kind: "committed", answer: "lost" };
      const read = readGivenAnswer(said.answer);
      return read.kind === "refused" ? null : { kind: "committed", answer: read.answer };
    }
    case "none":
    case "void":
      return { kind: said.outcome };
    case "unknown":
      return { kind: "unknown", why: "said" };
    default:
      return null;
  }
}

type Table = Readonly<Record<string, unknown>>;

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
