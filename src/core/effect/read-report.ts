/** A report of effects, as an origin sends it: bytes in, its entries or the first that is wrong out. */
import { decodeUtf8 } from "../bytes.ts";
import { type JsonReading, readStrictJson } from "../fingerprint/json.ts";
import { REPORTED_OF_ATTEMPT_MAX } from "../limits.ts";
import { type ReadEntry, type ReportField, readEntry, refuseTwice, type Told } from "./report.ts";

/** `index`: of the entry that is wrong, from 0. */
export type BadEntry = { index: number; field: ReportField };

export type ReportReading = { kind: "report"; entries: readonly Told[] } | ({ kind: "refused" } & BadEntry);

/** A text that is one JSON value is one entry; any other is read line by line, without the lines that are blank. At least one, and all of them or none. */
export function readReport(bytes: Uint8Array): ReportReading {
  const text = decodeUtf8(bytes) ?? "";
  const whole = readStrictJson(text);
  const lines = whole.kind === "illegible" ? text.split("\n").filter((line) => line.trim() !== "") : [];
  const readings = whole.kind === "illegible" ? lines.map(readStrictJson) : [whole];
  if (readings.length === 0) return { kind: "refused", index: 0, field: "entry" };
  const entries: Told[] = [];
  for (const [index, reading] of readings.entries()) {
    if (index === REPORTED_OF_ATTEMPT_MAX) return { kind: "refused", index, field: "report" };
    const entry = readReading(reading);
    if (entry.kind === "refused") return { ...entry, index };
    entries.push(entry.told);
  }
  return { kind: "report", entries };
}

function readReading(reading: JsonReading): ReadEntry {
  switch (reading.kind) {
    case "json":
      return readEntry(reading.value);
    case "twice":
      return refuseTwice(reading.path);
    case "illegible":
      return { kind: "refused", field: "entry" };
  }
}
