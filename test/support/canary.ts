/** Looks for planted secrets in everything a gateway leaves behind. */
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

export type CanaryFinding = {
  canary: string;
  /** `log`, `problem N` or a file's path below the store's folder. */
  where: string;
  /** The spelling in which it was found. */
  as: "text" | "utf-16" | "base64" | "hex" | "percent";
};

export type CanaryPlaces = {
  logs: string;
  /** Bodies of problems, pages and listings a caller was given. */
  problems?: readonly (string | Uint8Array)[];
  /** Folder of a store, searched with everything below it. */
  directory?: string;
};

type Spelling = { as: CanaryFinding["as"]; bytes: Buffer };

/** The canary in the spellings a program could have put it into; base64 at each of its three alignments. */
function spellCanary(canary: string): Spelling[] {
  const text = Buffer.from(canary, "utf8");
  const base64 = [0, 1, 2].map((shift): Spelling => {
    const padded = Buffer.concat([Buffer.alloc(shift), text]);
    const spelled = padded.subarray(0, padded.length - (padded.length % 3)).toString("base64");
    return { as: "base64", bytes: Buffer.from(spelled.slice(shift === 0 ? 0 : 4)) };
  });
  const percent = encodeURIComponent(canary);
  return [
    { as: "text", bytes: text },
    { as: "utf-16", bytes: Buffer.from(canary, "utf16le") },
    { as: "hex", bytes: Buffer.from(text.toString("hex")) },
    ...base64,
    ...(percent === canary ? [] : [{ as: "percent", bytes: Buffer.from(percent) } as const]),
  ];
}

/** Every place where a canary turned up. Throws on canaries of under 9 characters. */
export async function findCanaries(
  canaries: readonly string[],
  places: CanaryPlaces,
): Promise<CanaryFinding[]> {
  const short = canaries.find((canary) => canary.length < 9);
  if (short !== undefined) throw new Error(`too short to be told from chance: ${short}`);
  const haystacks = [
    { where: "log", bytes: Buffer.from(places.logs) },
    ...(places.problems ?? []).map((body, index) => ({
      where: `problem ${index}`,
      bytes: Buffer.from(body),
    })),
    ...(places.directory === undefined ? [] : await readFolder(places.directory)),
  ];
  const findings: CanaryFinding[] = [];
  for (const canary of canaries) {
    for (const spelling of spellCanary(canary)) {
      for (const { where, bytes } of haystacks) {
        if (bytes.includes(spelling.bytes)) findings.push({ canary, where, as: spelling.as });
      }
    }
  }
  return findings;
}

async function readFolder(directory: string): Promise<{ where: string; bytes: Buffer }[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return Promise.all(
    paths.map(async (path) => ({ where: relative(directory, path), bytes: await readFile(path) })),
  );
}
