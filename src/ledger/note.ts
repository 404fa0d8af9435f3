/**
 * Checkpoints as signed notes. Sources: C2SP signed-note (v1.0.0) and tlog-checkpoint (v1.0.0); Ed25519 is signature type 1.
 */
import { encodeUtf8, fromBase64Url, joinBytes, toBase64, toHex } from "../core/bytes.ts";
import { sha256 } from "./hashing.ts";

const ED25519 = Uint8Array.of(1);
const KEY_ID_BYTES = 4;

/** `pkcs8` is the private key, `public` its 32 bytes. `vkey` is what a verifier is given. */
export type Signer = { vkey: string; sign: (text: string) => Promise<string> };

/** The text of a checkpoint: origin, size and root, a line each. */
export function checkpointText(origin: string, size: number, root: Uint8Array): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`;
}

/** A fresh private key, in PKCS #8. */
export async function generateSigningKey(): Promise<Uint8Array> {
  const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"]);
  if (!("privateKey" in pair)) throw new Error("no key pair");
  const exported = await crypto.subtle.exportKey("pkcs8", pair.privateKey);
  if (!(exported instanceof ArrayBuffer)) throw new Error("no bytes");
  return new Uint8Array(exported);
}

/** A signer under a name, from an Ed25519 private key in PKCS #8 (RFC 8410). Throws where it is not one. */
export async function makeSigner(name: string, pkcs8: Uint8Array): Promise<Signer> {
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, { name: "Ed25519" }, true, ["sign"]);
  const exported = await crypto.subtle.exportKey("jwk", key);
  const point = "x" in exported && typeof exported.x === "string" ? fromBase64Url(exported.x) : null;
  if (point === null) throw new Error("no public key");
  const typed = joinBytes([ED25519, point]);
  const id = (await sha256(joinBytes([encodeUtf8(`${name}\n`), typed]))).slice(0, KEY_ID_BYTES);
  return {
    vkey: `${name}+${toHex(id)}+${toBase64(typed)}`,
    async sign(text) {
      const signature = new Uint8Array(await crypto.subtle.sign({ name: "Ed25519" }, key, encodeUtf8(text)));
      return `${text}\n\u2014 ${name} ${toBase64(joinBytes([id, signature]))}\n`;
    },
  };
}
