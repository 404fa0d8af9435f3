/** Reads what an origin answers to a probe or a seal. Whatever is not exactly what was agreed on is nothing. */
import { decodeUtf8 } from "../core/bytes.ts";
import { readGivenAnswer } from "../core/http/given-answer.ts";
import type { Committed, NothingLearned } from "../core/ports.ts";

export type ProbeText = Committed | { kind: "none" } | { kind: "void" } | NothingLearned;

/** Null: not what was agreed on. Members that nobody knows are left out. */
export function readProbeText(bytes: Uint8Array): ProbeText | null {
  const text = decodeUtf8(bytes);
  if (text === null) return null;
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isTable(said)) return null;
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
