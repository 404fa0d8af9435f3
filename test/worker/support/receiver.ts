/** A receiver of the ledger's webhook, and what it checks. */
import { expect } from "vitest";
import { encodeUtf8, fromHex } from "../../../src/core/bytes.ts";
import type { LedgerParts } from "../../../src/ledger/shard/parts.ts";

const KEY = new Uint8Array(32).fill(7);
export const URL_OF_RECEIVER = "https://receiver.example/ledger";

export type Sent = { url: string; headers: Headers; body: string; redirect: string | undefined };

/** A receiver that answers as `answer` says and remembers what it was sent. */
export function makeReceiver(
  answer: (number: number) => Response | Promise<Response>,
): Pick<LedgerParts, "webhook" | "send"> & { sent: Sent[] } {
  const sent: Sent[] = [];
  return {
    sent,
    webhook: { url: URL_OF_RECEIVER, key: KEY },
    async send(url, init) {
      sent.push({
        url,
        headers: new Headers(init.headers),
        body: String(init.body),
        redirect: init.redirect,
      });
      return answer(sent.length);
    },
  };
}

/** Takes what it is sent. */
export const accept = (): Response => new Response(null, { status: 204 });

/** The signature is over everything that a receiver goes by. */
export async function expectSigned({ headers, body }: Sent, shard: string): Promise<void> {
  const [sequence, previous] = [headers.get("Ledger-Sequence"), headers.get("Ledger-Previous")];
  const events = headers.get("Ledger-Events") ?? "";
  const message = ["oncegate-webhook-v1", shard, sequence, previous, events, body].join("\n");
  const key = await crypto.subtle.importKey("raw", KEY, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signature = fromHex((headers.get("Ledger-Signature") ?? "").replace("v1=", "")) ?? new Uint8Array();
  expect(await crypto.subtle.verify("HMAC", key, signature, encodeUtf8(message))).toBe(true);
}
