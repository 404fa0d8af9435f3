/** `GET /operator/versions`: the forms of what is stored and sent, so that a roll-out can be seen to fit what is there. */
import { replyJson } from "./json.ts";

/** By the name of what has it. This build writes that one form and reads that one. */
export type Versions = Readonly<
  Record<"record" | "reported_effects" | "fingerprint" | "entry" | "log" | "call", number>
>;

export type VersionsDesk = {
  versions: Versions;
  /** Of the database's schema: what this build needs. */
  schemaNeeded: number;
  /** What the database has; null: it did not answer, or has none. */
  readSchema: () => Promise<number | null>;
};

export async function answerVersions(desk: VersionsDesk): Promise<Response> {
  const forms = Object.entries(desk.versions).map(
    ([name, version]) => [name, { writes: version, reads: [version] }] as const,
  );
  const database = { needs: desk.schemaNeeded, has: await desk.readSchema() };
  return replyJson({ ...Object.fromEntries(forms), database });
}
