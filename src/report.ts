/**
 * The one place that writes log lines: one JSON object a line. Members are ids, keyed digests, numbers and words of closed
 * lists; never a key, credential, body, header value or address from a request.
 */
export type Report = (
  event: string,
  members: Readonly<Record<string, string | number | readonly string[]>>,
) => void;

/** Writes one entry of the ledger as it is, where stdout is a sink. */
export function printEntry(line: string): void {
  console.log(line);
}

export const report: Report = (event, members) => {
  console.log(JSON.stringify({ event, ...members }));
};
