/** Macs under the key that the gateway shares with the origin: what neither a client nor an echo can make. */
import { encodeUtf8, toBase64 } from "../core/bytes.ts";
import type { Attempt, SignedEvidence } from "../core/ports.ts";

export type OriginMacs = {
  /** What the value of an answer's `Effect-Evidence` proves of this very attempt; null: there is no such field. */
  readEvidence(field: string | null, attempt: Attempt): Promise<SignedEvidence>;
  /** The value of `Effect-Probe`, by which the origin knows who asks. Null: no key. */
  signProbe(attempt: Attempt): Promise<string | null>;
};

const NONE = /^none;[ \t]*mac="([A-Za-z0-9+/]{43}=)"$/;

/** `key`: `ORIGIN_EVIDENCE_KEY` decoded; null: macs are off. */
export async function openOriginMacs(key: Uint8Array | null): Promise<OriginMacs> {
  if (key === null) return { readEvidence: async () => null, signProbe: async () => null };
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  // No part holds a line feed: an effect's id is hex, so two different lists never give the same text.
  const mac = async (label: string, { effect, n }: Attempt, word: string): Promise<string> => {
    const message = encodeUtf8([label, effect, String(n), word].join("\n"));
    return toBase64(new Uint8Array(await crypto.subtle.sign("HMAC", imported, message)));
  };
  return {
    async readEvidence(field, attempt) {
      // Several fields are joined by commas, which the form has no room for.
      const given = NONE.exec(field ?? "")?.[1];
      if (given === undefined) return null;
      const wanted = encodeUtf8(await mac("oncegate-evidence-v1", attempt, "none"));
      return crypto.subtle.timingSafeEqual(encodeUtf8(given), wanted) ? "signed-none" : null;
    },
    async signProbe(attempt) {
      return `mac="${await mac("oncegate-probe-v1", attempt, "probe")}"`;
    },
  };
}
